internal import CSignalSafe

/// Gives the thread that takes the dump access to /proc, clocks and files.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// Returns the `Capture` of a dump that the thread is taking for a reason other than a crash; nil if there is none.
  @_noLocks
  func liveDump(takenBy threadID: Int32) -> Capture? {
    guard let dump = shared.dumpingThreads.value(of: threadID), let argument = unsafe dump.address
    else { return nil }
    return unsafe Capture(argument)
  }

  /// The reader of /proc for this dump.
  var proc: ProcReader { @_noLocks get { ProcReader(proc: session.files.proc.descriptor, self) } }

  /// True unless `HandlerOptions.forgoing` excludes this group of system calls.
  @_noLocks
  func mayMake(_ call: UInt32) -> Bool { installed.forgone & call == 0 }

  /// The time from the monotonic clock, in nanoseconds.
  ///
  /// The time is 0 if `forgoing` contains `proc`, or if the kernel refuses to read the clock.
  var clock: UInt64 { @_noLocks get { mayMake(CallBit.proc) ? pm_monotonic_clock() : 0 } }

  var wallClock: UInt64 { @_noLocks get { mayMake(CallBit.proc) ? pm_wall_clock() : 0 } }

  /// True if the descriptor still refers to the handler's file; if `forgoing` excludes the check, true for any
  /// descriptor that is not negative.
  ///
  /// - Parameter linked: true if the file must also still have a name.
  @_noLocks
  func isSame(_ file: HeldFile, linked: Bool = false) -> Bool {
    mayMake(CallBit.files) ? file.isThere(linked: linked) : file.descriptor >= 0
  }

  /// True if a descriptor that referred to the handler's file when it was checked last still does.
  @_noLocks
  func isStill(_ file: HeldFile) -> Bool { session.files.hasOwnDescriptors || isSame(file) }

  /// Returns the descriptor together with its file's identity, by which `isSame` later recognizes the file.
  ///
  /// There is no identity if `forgoing` excludes checking files.
  @_noLocks
  func hold(_ descriptor: Int32) -> HeldFile {
    var file = HeldFile(
      descriptor, identity: FileIdentity(of: mayMake(CallBit.files) ? descriptor : -1))
    if installed.changesInodes { file.twin = pm_duplicate(descriptor) }
    return file
  }

  /// Closes a file, unless the program has reused its descriptor for another file.
  @_noLocks
  func close(_ file: HeldFile) {
    guard isSame(file) else { return }
    if file.hasTwin { _ = pm_close(file.twin) }
    _ = pm_close(file.descriptor)
  }

  /// Opens the file that shows which pages are in memory, if `HandlerOptions.forgoing` allows that.
  @_noLocks
  func openResidentPages() {
    closeResidentPages()
    guard mayMake(CallBit.proc) else { return }
    session.resident.file = hold(proc.open(named: "thread-self/pagemap"))
  }

  @_noLocks
  func closeResidentPages() {
    close(session.resident.file)
    session.resident.file = HeldFile()
  }
}
