/// The names of a dump and of what lies beside it, NUL-terminated, each "<identifier>@<uuid>…".
///
/// RUNS-DURING-CRASH.
@safe
struct DumpNames {
  let locked: UnsafePointer<CChar>
  let finished: UnsafePointer<CChar>
  let runRecord: UnsafePointer<CChar>
  let fifo: UnsafePointer<CChar>
  /// Where the report ID's text begins in these names, in bytes.
  let reportIDOffset: Int
  /// The 16 bytes of the report ID.
  let reportID: UnsafeMutableRawPointer
  /// True once the report ID is another than the one that was encoded at launch.
  var areNew = false
}

/// What a dump goes to and what it needs to be found and read, held open so that a chroot does not
/// matter; with what each was, because a program may close it and open another under its number.
///
/// RUNS-DURING-CRASH.
struct SessionFiles {
  var dump: HeldFile
  /// The folder of pending dumps.
  var folder: HeldFile
  /// Read end of the FIFO beside the dump.
  var fifo: HeldFile
  /// `/proc`.
  var proc: HeldFile
  /// True while there is no locked file, which the dump then makes.
  ///
  /// In a forked child, where the next one could not be made after a crash that was survived, and
  /// in a dump without a crash.
  var isMissing = false
  /// True if no other thread can change this one's descriptors.
  var hasOwnDescriptors = false
}

/// The run record beside the locked file.
///
/// RUNS-DURING-CRASH.
struct SessionRunRecord {
  /// True in a process whose end is to be told by the next start; no longer after a crash that may
  /// be survived, whose report is told already.
  var isFollowed = false
  /// True once a signal that asks the process to end was noted.
  var hasTermination = false
  /// Open for writing.
  var file = HeldFile()
  /// The page of it that shows others that this process lives.
  var mapping = RecordMapping()

  @_noLocks
  init() {}
}
