/// The outcome of the dump.
///
/// RUNS-DURING-CRASH.
struct DumpResult {
  /// True once a file was there to write to.
  var hasFile = false
  /// True once every byte of it, the end mark included, was written.
  var isComplete = false
  /// True once the name without `.locked` is its own.
  var isRenamed = false
  /// The errno of the first failure; 0 if nothing failed.
  var failure: Int32 = 0

  @_noLocks
  init() {}
}
