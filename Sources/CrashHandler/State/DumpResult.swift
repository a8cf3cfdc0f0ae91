/// The outcome of the dump.
///
/// RUNS-DURING-CRASH.
struct DumpResult {
  /// True after the dump has got a file to write to.
  var hasFile = false
  /// True after every byte of the dump, including the end mark, has been written.
  var isComplete = false
  /// True after the file has got its final name, without `.locked`.
  var isRenamed = false
  /// The errno of the first failure; 0 if nothing failed.
  var failure: Int32 = 0

  @_noLocks
  init() {}
}
