/// The NUL-terminated file names of a dump, its run record and its FIFO, each of the form "<identifier>@<uuid>…".
///
/// RUNS-DURING-CRASH.
@safe
struct DumpNames {
  /// The number of bytes of a report ID as text, which is a UUID.
  static var reportIDLength: Int { @_noLocks get { 36 } }

  let locked: UnsafePointer<CChar>
  let finished: UnsafePointer<CChar>
  let runRecord: UnsafePointer<CChar>
  let fifo: UnsafePointer<CChar>
  /// The offset in bytes of the report ID's text in each of these names.
  let reportIDOffset: Int
  /// The report ID whose text is in these names, as 16 bytes.
  let reportID: UnsafeMutableRawPointer
  /// True if the report ID differs from the one that was encoded at launch.
  var areNew = false
}
