/// The system calls that crash code makes.
///
/// RUNS-DURING-CRASH.
struct CrashCalls {
  /// The bits of the `SystemCalls` that are not made.
  let forgone: UInt32

  @_noLocks
  init(forgone: UInt32) {
    self.forgone = forgone
  }

  /// True unless the program forgoes the group of system calls (`HandlerOptions.forgoing`).
  @_noLocks
  func mayMake(_ call: UInt32) -> Bool { forgone & call == 0 }

  /// True if the descriptor still refers to the file for which it was opened, or if checks are forgone.
  ///
  /// - Parameter linked: true if the file must also still have a name.
  @_noLocks
  func isSame(_ file: HeldFile, linked: Bool = false) -> Bool {
    mayMake(CallBit.files) ? file.isThere(linked: linked) : file.descriptor >= 0
  }

  /// A descriptor with the identity of its current file, or only with its number if files are not checked.
  @_noLocks
  func hold(_ descriptor: Int32) -> HeldFile {
    HeldFile(
      descriptor, identity: FileIdentity(of: mayMake(CallBit.files) ? descriptor : -1))
  }
}
