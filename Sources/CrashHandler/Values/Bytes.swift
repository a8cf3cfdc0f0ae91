internal import CSignalSafe

/// A range of bytes that can be read without a fault, such as memory of the handler or a string literal.
///
/// RUNS-DURING-CRASH.
@safe
struct Bytes {
  let address: UnsafeRawPointer
  let count: Int

  @_noLocks
  init(_ address: UnsafeRawPointer, count: Int) {
    unsafe self.address = address
    self.count = count
  }

  /// Refers to the bytes of a string literal, without a NUL.
  @_noLocks
  init(_ text: StaticString) {
    unsafe address = UnsafeRawPointer(text.utf8Start)
    count = text.utf8CodeUnitCount
  }

  /// The byte at an index; 0 outside the range.
  @_noLocks
  subscript(index: Int) -> UInt8 {
    @_noLocks get {
      guard index >= 0, index < count else { return 0 }
      return unsafe address.loadUnaligned(fromByteOffset: index, as: UInt8.self)
    }
  }

  /// The word of 8 bytes at an offset in bytes; 0 if it is not completely within these bytes.
  @_noLocks
  func word(_ offset: Int) -> UInt64 {
    guard offset >= 0, offset <= count &- 8 else { return 0 }
    return unsafe address.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  @_noLocks
  func dropFirst(_ offset: Int) -> Bytes {
    guard offset >= 0, offset <= count else { return unsafe Bytes(address, count: 0) }
    return unsafe Bytes(address + offset, count: count &- offset)
  }

  @_noLocks
  func prefix(_ length: Int) -> Bytes {
    unsafe Bytes(address, count: length < 0 ? 0 : length < count ? length : count)
  }

  var withoutLineFeeds: Bytes {
    @_noLocks get {
      var length = count
      while length > 0, self[length &- 1] == 0x0A { length &-= 1 }
      return prefix(length)
    }
  }

  /// True if the bytes end with the given text.
  @_noLocks
  func hasSuffix(_ word: StaticString) -> Bool {
    let length = word.utf8CodeUnitCount
    return length <= count && dropFirst(count &- length).text.matches(word)
  }

  /// Returns at most `limit` bytes of the text; cuts valid UTF-8 only between two characters.
  @_noLocks
  func prefixOfCharacters(_ limit: Int) -> Bytes {
    guard count > limit else { return self }
    var length = limit
    // The limit may be inside a character, which has at most four bytes, so up to three bytes before the limit are
    // dropped.
    while length > 0, limit &- length < 3, self[length] & 0xC0 == 0x80 { length &-= 1 }
    return self[length] & 0xC0 == 0x80 ? prefix(limit) : prefix(length)
  }

  /// A path's last component.
  var fileName: Bytes {
    @_noLocks get {
      var start = count
      while start > 0, self[start &- 1] != 0x2F { start &-= 1 }
      return dropFirst(start)
    }
  }

  /// The bytes before the first space.
  var firstWord: Bytes {
    @_noLocks get {
      var length = 0
      while length < count, self[length] != 0x20 { length &+= 1 }
      return prefix(length)
    }
  }

  var text: TextScanner { @_noLocks get { TextScanner(self) } }
}
