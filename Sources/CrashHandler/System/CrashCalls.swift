/// The system calls that crash code makes.
///
/// RUNS-DURING-CRASH.
struct CrashCalls {
  /// `SystemCalls` that are not made, as bits.
  let forgone: UInt32

  @_noLocks
  init(forgone: UInt32) {
    self.forgone = forgone
  }

  /// True unless the program forgoes the group of system calls (`HandlerOptions.forgoing`).
  @_noLocks
  func mayMake(_ call: UInt32) -> Bool { forgone & call == 0 }

  /// True if the descriptor still refers to the file that it was opened for, or checks are forgone.
  ///
  /// - Parameter linked: true if the file must also still have a name.
  @_noLocks
  func isSame(_ file: HeldFile, linked: Bool = false) -> Bool {
    mayMake(CallBit.files) ? file.isThere(linked: linked) : file.descriptor >= 0
  }

  /// Stores a descriptor with its current file, or only its number if files are not checked.
  @_noLocks
  func hold(_ descriptor: Int32) -> HeldFile {
    HeldFile(
      descriptor, identity: FileIdentity(of: mayMake(CallBit.files) ? descriptor : -1))
  }
}
