/// The dump's file and the directories that it needs.
///
/// They stay open, so that a later chroot does not matter. Each has its identity, because a program may close the
/// descriptor and open another file with the same number.
///
/// RUNS-DURING-CRASH.
struct SessionFiles {
  var dump: HeldFile
  /// The directory of pending dumps.
  var directory: HeldFile
  /// The read end of the owner's FIFO.
  var fifo: HeldFile
  /// `/proc`.
  var proc: HeldFile
  /// True while there is no locked file; the next dump creates one.
  ///
  /// True in a forked child, in a dump without a crash, and after a survived crash if the next file could not be
  /// created.
  var isMissing = false
  /// True if no other thread can change this one's descriptors.
  var hasOwnDescriptors = false
}
