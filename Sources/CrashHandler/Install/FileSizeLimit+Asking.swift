internal import CSignalSafe

extension FileSizeLimit {
  /// False where the process may write files of any size.
  static var isSet: Bool {
    var limit = pm_limit()
    return unsafe pm_file_size_limit(nil, &limit) != 0 || limit.soft != .max
  }
}
