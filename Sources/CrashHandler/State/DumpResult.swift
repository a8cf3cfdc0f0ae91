/// The outcome of the dump.
///
/// RUNS-DURING-CRASH.
struct DumpResult {
  /// True once the dump has a file to write to.
  var hasFile = false
  /// True once every byte of the dump, including the end mark, is written.
  var isComplete = false
  /// True once the file has its final name, without `.locked`.
  var isRenamed = false
  /// The errno of the first failure; 0 if nothing failed.
  var failure: Int32 = 0

  @_noLocks
  init() {}
}
