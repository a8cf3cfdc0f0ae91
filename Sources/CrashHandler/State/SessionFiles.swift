/// The dump's file and the directories that it needs, held open so that a chroot does not matter;
/// each with its identity, because a program may close it and open another under its number.
///
/// RUNS-DURING-CRASH.
struct SessionFiles {
  var dump: HeldFile
  /// The directory of pending dumps.
  var directory: HeldFile
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
