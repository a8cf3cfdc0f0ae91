internal import CSignalSafe

/// Keeps descriptors 0 to 2 from becoming files of ours.
///
/// A daemon may have closed them, and the kernel gives the lowest free number: what the program then
/// prints to "standard error" would go into the dump. Those that are closed are taken until
/// `giveBack`.
///
/// RUNS-DURING-CRASH; `startHandler` uses it too.
struct StandardDescriptors {
  /// The ones taken, by bits.
  private let taken: UInt32

  /// For a process that is known to have all three open.
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

  /// False if stderr was closed: descriptor 2 is our placeholder, and closes with this value.
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
