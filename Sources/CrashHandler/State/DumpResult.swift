/// The outcome of the dump.
///
/// RUNS-DURING-CRASH.
struct DumpResult {
  /// True once there was a file to write to.
  var hasFile = false
  /// True once every byte of the dump including the end mark was written.
  var isComplete = false
  /// True once the file has the name without `.locked`.
  var isRenamed = false
  /// The errno of the first failure; 0 if nothing failed.
  var failure: Int32 = 0

  @_noLocks
  init() {}
}
