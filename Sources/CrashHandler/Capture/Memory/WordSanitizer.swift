internal import IntermediateDump

/// Replaces the words in stacks and registers that may be secrets.
///
/// Only numbers below 4,096 and addresses of readable or executable memory are kept. These include addresses with the
/// mark of an async frame and, on arm64, signed code addresses.
///
/// Text of at least seven bytes, and most other secrets, do not look like addresses, so they are replaced. Without
/// mappings, all words except small numbers are replaced. The converter, which knows the modules and stacks, later
/// replaces more words.
///
/// RUNS-DURING-CRASH. Source: Crashpad `snapshot/sanitized/memory_snapshot_sanitized.cc`.
@safe
struct WordSanitizer {
  private let mappings: MappingTable

  @_noLocks
  init(_ mappings: MappingTable) {
    self.mappings = mappings
  }

  /// Replaces the words that may be secrets in a copy of memory.
  ///
  /// - Parameters:
  ///   - place: the copy of the memory.
  ///   - address: the address of the original memory; a word that is only partly in the range is replaced.
  @_noLocks
  func sanitize(_ place: UnsafeMutableRawPointer, copyOf address: UInt64, count: Int) {
    let toWord = Int(truncatingIfNeeded: (0 &- address) & 7)
    var offset = toWord < count ? toWord : count
    unsafe replaceBytes(place, copyOf: address, from: 0, to: offset)
    // The mapping that was last found for a word. It is tried first, because the next address usually points into the
    // same mapping.
    var mapping = Mapping.none
    while offset &+ 8 <= count {
      let word = unsafe place.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if word >= 4096, !mapping.contains(word), !keeps(word, &mapping) {
        unsafe place.storeBytes(
          of: IntermediateDumpFormat.replacedWord, toByteOffset: offset, as: UInt64.self)
      }
      offset &+= 8
    }
    unsafe replaceBytes(place, copyOf: address, from: offset, to: count)
  }

  @_noLocks
  func sanitized(_ word: UInt64) -> UInt64 {
    var mapping = Mapping.none
    return word < 4096 || keeps(word, &mapping) ? word : IntermediateDumpFormat.replacedWord
  }

  /// - Parameter mapping: set to the mapping that the word points into.
  private func keeps(_ word: UInt64, _ mapping: inout Mapping) -> Bool {
    // In a saved frame pointer, bit 60 may be set to mark the frame record of a Swift async function.
    if isMapped(word & ~(1 &<< 60), &mapping) { return true }
    #if arch(arm64)
      return mappings.isExecutable(CodeAddress.of(word))
    #else
      return false
    #endif
  }

  private func isMapped(_ address: UInt64, _ mapping: inout Mapping) -> Bool {
    // A large range without permissions is only reserved address space, so words that point into such a range are not
    // kept.
    guard let found = mappings.mapping(around: address),
      found.has(Mapping.isReadable | Mapping.isExecutable)
    else { return false }
    mapping = found
    return true
  }

  private func replaceBytes(
    _ place: UnsafeMutableRawPointer, copyOf address: UInt64, from start: Int, to end: Int
  ) {
    var offset = start
    while offset < end {
      let shift = (address &+ UInt64(truncatingIfNeeded: offset)) & 7 &* 8
      unsafe place.storeBytes(
        of: UInt8(truncatingIfNeeded: IntermediateDumpFormat.replacedWord &>> shift),
        toByteOffset: offset,
        as: UInt8.self)
      offset &+= 1
    }
  }
}

extension Capture {
  /// The sanitizer that replaces secrets in memory and registers; nil if the dump keeps everything.
  var sanitizer: WordSanitizer? {
    @_noLocks get { installed.isSanitized ? WordSanitizer(session.mappings) : nil }
  }
}
