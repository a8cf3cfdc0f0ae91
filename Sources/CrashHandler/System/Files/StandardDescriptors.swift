internal import CSignalSafe

/// Keeps the handler's files from getting descriptors 0 to 2.
///
/// A daemon may have closed these descriptors, and the kernel gives a new file the lowest free number. The program's
/// output to standard error could then go into the dump. Until `giveBack`, placeholders take the numbers of the
/// closed descriptors.
///
/// RUNS-DURING-CRASH; `startHandler` uses this type too.
struct StandardDescriptors {
  /// The bits of the descriptors that placeholders have taken.
  private let taken: UInt32

  /// The value without placeholders, for a process in which all three descriptors are open.
  static var none: StandardDescriptors { @_noLocks get { StandardDescriptors(taken: 0) } }

  private init(taken: UInt32) { self.taken = taken }

  @_noLocks
  init() {
    let path = unsafe ProcReader.characters("/dev/null")
    var taken: UInt32 = 0
    while true {
      let descriptor = unsafe pm_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC)
      guard descriptor >= 0 else { break }
      guard descriptor <= Int(STDERR_FILENO) else {
        _ = pm_close(Int32(truncatingIfNeeded: descriptor))
        break
      }
      taken |= 1 &<< UInt32(truncatingIfNeeded: descriptor)
    }
    self.taken = taken
  }

  /// False if standard error was closed; then descriptor 2 is a placeholder, which `giveBack` closes.
  var hasStandardError: Bool { @_noLocks get { !isTaken(STDERR_FILENO) } }

  @_noLocks
  func giveBack() {
    var descriptor: Int32 = 0
    while descriptor <= STDERR_FILENO {
      if isTaken(descriptor) { _ = pm_close(descriptor) }
      descriptor &+= 1
    }
  }

  private func isTaken(_ descriptor: Int32) -> Bool {
    taken &>> UInt32(bitPattern: descriptor) & 1 == 1
  }
}
