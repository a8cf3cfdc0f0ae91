internal import CSignalSafe

/// A descriptor, and the identity of the file for which it was opened.
///
/// RUNS-DURING-CRASH.
struct HeldFile {
  var descriptor: Int32
  var identity: FileIdentity
  /// A duplicate of the descriptor if the file system changes the numbers of its inodes; otherwise negative.
  ///
  /// As long as both descriptors belong to the same open file, the descriptor still refers to this file.
  var twin: Int32 = -1

  /// Stores a descriptor and the identity of its file; for -1, stores an identity that no file has.
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

  /// True if the descriptor still refers to this file and, if `linked` is true, the file still has a name.
  @_noLocks
  func isThere(linked: Bool = false) -> Bool {
    identity.isOf(descriptor, linked: linked, anyInode: hasTwin)
  }

  /// True if the descriptor and its duplicate belong to the same open file.
  var hasTwin: Bool {
    @inline(never) @_noLocks get { twin >= 0 && pm_is_same_open_file(descriptor, twin) }
  }
}
