/// A descriptor, and the file it was opened for.
///
/// RUNS-DURING-CRASH.
struct HeldFile {
  var descriptor: Int32
  var identity: FileIdentity

  /// Remembers a descriptor and its file's identity; none for -1.
  @_noLocks
  init(_ descriptor: Int32 = -1) {
    self.descriptor = descriptor
    identity = FileIdentity(of: descriptor)
  }

  @_noLocks
  init(_ descriptor: Int32, identity: FileIdentity) {
    self.descriptor = descriptor
    self.identity = identity
  }

  /// True if the descriptor still is that of this file and, where `linked`, it still has a name.
  @_noLocks
  func isThere(linked: Bool = false) -> Bool { identity.isOf(descriptor, linked: linked) }
}
