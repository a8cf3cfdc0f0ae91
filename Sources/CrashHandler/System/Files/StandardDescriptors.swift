internal import CSignalSafe

/// Keeps the handler's files from getting descriptors 0 to 2.
///
/// A daemon may have closed these descriptors, and the kernel gives a new file the lowest free number. The program's
/// output to standard error could then go into the dump. Until `giveBack`, placeholders take the numbers of the
/// closed descriptors.
///
/// RUNS-DURING-CRASH; `startHandler` uses this type too.
struct StandardDescriptors {
  /// The descriptors that placeholders have taken; bit n stands for descriptor n.
  let taken: UInt32

  @_noLocks
  init() {
    let path = unsafe ProcReader.characters("/dev/null")
    var taken: UInt32 = 0
    while true {
      let descriptor = unsafe pm_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC)
      guard descriptor >= 0 else { break }
      guard descriptor <= STDERR_FILENO else {
        _ = pm_close(descriptor)
        break
      }
      taken |= 1 &<< UInt32(bitPattern: descriptor)
    }
    self.taken = taken
  }

  @_noLocks
  func giveBack() {
    for number in Indices(Int(STDERR_FILENO) &+ 1) {
      let descriptor = Int32(truncatingIfNeeded: number)
      if isTaken(descriptor) { _ = pm_close(descriptor) }
    }
  }

  @_noLocks
  func isTaken(_ descriptor: Int32) -> Bool {
    taken &>> UInt32(bitPattern: descriptor) & 1 == 1
  }
}
