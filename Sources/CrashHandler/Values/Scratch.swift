/// Memory for temporary data while a dump is taken: text from /proc, ELF headers and lists.
///
/// Each use of the memory overwrites the data of earlier uses.
///
/// Reads outside the memory return 0, and writes outside it do nothing.
///
/// RUNS-DURING-CRASH.
@safe
struct Scratch {
  let address: UnsafeMutableRawPointer
  let size: Int

  @_noLocks
  init(_ address: UnsafeMutableRawPointer, size: Int) {
    unsafe self.address = address
    self.size = size
  }

  var firstHalf: Scratch { @_noLocks get { unsafe Scratch(address, size: size / 2) } }
  var secondHalf: Scratch {
    @_noLocks get { unsafe Scratch(address + size / 2, size: size &- size / 2) }
  }

  /// The rest of the memory after an offset.
  @_noLocks
  func dropFirst(_ offset: Int) -> Scratch {
    guard offset >= 0, offset <= size else { return unsafe Scratch(address, size: 0) }
    return unsafe Scratch(address + offset, size: size &- offset)
  }

  /// The word at an offset in bytes; 0 if the word is not within the scratch memory.
  @_noLocks
  func word(_ offset: Int) -> UInt64 {
    guard offset >= 0, offset <= size &- 8 else { return 0 }
    return unsafe address.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  @_noLocks
  func setWord(_ offset: Int, _ value: UInt64) {
    guard offset >= 0, offset <= size &- 8 else { return }
    unsafe address.storeBytes(of: value, toByteOffset: offset, as: UInt64.self)
  }

  /// Stores a range of memory at an index, in the form of `pm_range`.
  @_noLocks
  func setRange(_ index: Int, _ address: UInt64, count: Int) {
    setWord(index &* 16, address)
    setWord(index &* 16 &+ 8, UInt64(truncatingIfNeeded: count))
  }

  @_noLocks
  func bytes(_ offset: Int = 0, count: Int) -> Bytes {
    guard offset >= 0, count >= 0, offset <= size &- count else {
      return unsafe Bytes(address, count: 0)
    }
    return unsafe Bytes(address + offset, count: count)
  }

  @_noLocks
  func text(count: Int) -> TextScanner { bytes(count: count).text }
}
