internal import CSignalSafe

extension FileSizeLimit {
  /// True if the process has a limit on file sizes, or if the kernel does not return the limit.
  static var isSet: Bool {
    var limit = pm_limit()
    return unsafe pm_file_size_limit(nil, &limit) != 0 || limit.soft != .max
  }
}
