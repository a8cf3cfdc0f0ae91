/// The dump's file, and the other files and directories that are needed to write it.
///
/// The files stay open, so that the handler can still reach them after the program has called chroot(2). The identity
/// of each file is stored too, because the program may close the descriptor and open another file with the same number.
///
/// RUNS-DURING-CRASH.
struct SessionFiles {
  var dump: HeldFile
  /// The directory of pending dumps.
  var directory: HeldFile
  /// The read end of the FIFO; as long as it is open, other processes know that the dump's owner is alive.
  var fifo: HeldFile
  /// `/proc`.
  var proc: HeldFile
  /// True while there is no locked file; the next dump must then create one.
  ///
  /// No locked file exists in a forked child (except in that of daemon(3)), for a requested dump, after a survived crash
  /// if the next file could not be created, and after `exit` has removed the file.
  var isMissing = false
  /// True if the thread that takes the dump has its own descriptor table, so that no other thread can change its
  /// descriptors.
  var hasOwnDescriptors = false
}
