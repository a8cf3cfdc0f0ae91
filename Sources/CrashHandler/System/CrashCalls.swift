/// Which system calls crash code may make.
///
/// RUNS-DURING-CRASH.
struct CrashCalls {
  /// The bits of the `SystemCalls` groups that the program has excluded.
  let forgone: UInt32

  @_noLocks
  init(forgone: UInt32) {
    self.forgone = forgone
  }

  /// True unless `HandlerOptions.forgoing` excludes this group of system calls.
  @_noLocks
  func mayMake(_ call: UInt32) -> Bool { forgone & call == 0 }

  /// True if the descriptor still refers to the handler's file, or if `forgoing` excludes the check.
  ///
  /// - Parameter linked: true if the file must also still have a name.
  @_noLocks
  func isSame(_ file: HeldFile, linked: Bool = false) -> Bool {
    mayMake(CallBit.files) ? file.isThere(linked: linked) : file.descriptor >= 0
  }

  /// Returns a descriptor with the identity of its current file, or with no file's identity if files are not checked.
  @_noLocks
  func hold(_ descriptor: Int32) -> HeldFile {
    HeldFile(
      descriptor, identity: FileIdentity(of: mayMake(CallBit.files) ? descriptor : -1))
  }
}
