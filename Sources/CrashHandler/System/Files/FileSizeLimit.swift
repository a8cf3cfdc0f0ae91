internal import CSignalSafe

/// Raises the soft limit on file sizes to the hard limit while the handler writes its files.
///
/// If the soft limit is 0, every write fails with EFBIG, even a write to preallocated blocks.
///
/// RUNS-DURING-CRASH. Source: getrlimit(2), RLIMIT_FSIZE.
struct FileSizeLimit {
  private var limit = pm_limit()
  private var isRaised = false

  /// - Parameter isRaised: false to keep the limit unchanged.
  @_noLocks
  init(isRaised: Bool) {
    guard isRaised else { return }
    guard unsafe pm_file_size_limit(nil, &limit) == 0, limit.soft != limit.hard else { return }
    var raised = limit
    raised.soft = limit.hard
    self.isRaised = unsafe pm_file_size_limit(&raised, nil) == 0
  }

  @_noLocks
  func restore() {
    guard isRaised else { return }
    var previous = limit
    _ = unsafe pm_file_size_limit(&previous, nil)
  }
}

extension FileSizeLimit {
  /// True if the process has a limit on file sizes, or if the kernel does not return the limit.
  static var isSet: Bool {
    @_noLocks get {
      var limit = pm_limit()
      return unsafe pm_file_size_limit(nil, &limit) != 0 || limit.soft != .max
    }
  }
}
