internal import IntermediateDump
package import ProcessSnapshot

/// A value that is probably not a pointer.
///
/// For example, allocators and debug builds of the Swift runtime write such values into unused memory.
///
/// A program may use any of these values itself, so a pattern is only a hint.
package enum WordPattern: Sendable, Equatable {
  /// The word that replaces values in a sanitized report, `IntermediateDumpFormat.replacedWord`.
  case leftOut
  /// The value that a debug build of the Swift runtime writes over freed objects.
  case swiftFreedObject
  /// The values that jemalloc's `opt.junk` writes into memory that was freed, or that was allocated and never
  /// written.
  case jemallocFreed, jemallocNew
  /// Eight equal bytes of any other value. glibc writes such bytes if MALLOC_PERTURB_ is set, as do some compilers and
  /// sanitizers.
  case repeatedByte(UInt8)
  /// A number that spells a word, such as 0xdeadbeef.
  case spelledNumber(UInt32)
  case text(String)
  /// The second word of a small Swift string; the text of such a string is in its two words.
  case smallString(count: Int)
  /// The second word of a Swift string whose text is elsewhere and is not reference-counted, which is usually a
  /// literal.
  case literalString(Address)
  /// A number that is too small to be an address.
  case smallNumber(UInt64)
  case negative(Int64)
  /// An address with a tag in its highest byte, as in an enum with several cases that hold objects.
  case taggedAddress(Address, tag: UInt8)
  /// A value that cannot be an address in a user process, even with five levels of page tables.
  case impossibleAddress

  /// Recognizes the pattern of a word; nil for a word that may be a pointer or an ordinary number.
  package init?(_ word: UInt64, _ architecture: ProcessSnapshot.Architecture = .x86_64) {
    guard word >= 0x1_0000 else {
      // Null needs no explanation.
      if word == 0 { return nil }
      self = .smallNumber(word)
      return
    }
    if word == IntermediateDumpFormat.replacedWord {
      self = .leftOut
    } else if word > UInt64(bitPattern: -0x1_0000) {
      self = .negative(Int64(bitPattern: word))
    } else if let fill = Self.fill(word) {
      self = fill
    } else if let text = Self.text(of: word) {
      self = .text(text)
    } else if let string = Self.string(word) {
      self = string
    } else if let (address, tag) = Self.tagged(word) {
      self = .taggedAddress(address, tag: tag)
    } else if architecture == .x86_64, !Address(word).isCanonicalOnAnyProcessor {
      self = .impossibleAddress
    } else {
      return nil
    }
  }

  /// Finds a fill pattern that equals an address or is slightly below it, or the text that the bytes of the address
  /// spell.
  ///
  /// - Returns: the pattern, and how many bytes below the address it is; nil if neither a fill pattern nor text was
  ///   found.
  package static func below(_ address: Address) -> (pattern: WordPattern, offset: UInt64)? {
    let word = address.value
    let top = UInt8(truncatingIfNeeded: word >> 56)
    let candidates =
      [UInt64(top) &* 0x0101_0101_0101_0101, swiftPoison]
      + spelledNumbers.flatMap { [UInt64($0), UInt64($0) << 32 | UInt64($0)] }
    for candidate in candidates where candidate >= 0x1_0000 && word >= candidate {
      let offset = word &- candidate
      if offset <= maximumOffset, let pattern = fill(candidate) { return (pattern, offset) }
    }
    return text(of: word).map { (.text($0), 0) }
  }

  /// The maximum number of bytes by which an address may exceed a fill pattern and still be explained by it.
  ///
  /// The offset is that of the field that the program accessed through the invalid pointer.
  private static let maximumOffset: UInt64 = 4096

  /// Source: swift stdlib/public/runtime/HeapObject.cpp, SWIFT_RUNTIME_CLOBBER_FREED_OBJECTS.
  private static let swiftPoison: UInt64 = 0x08D0_EEF4_EA1D_ADAB

  private static let spelledNumbers: [UInt32] = [
    0xDEAD_BEEF, 0xBAAD_F00D, 0xFEED_FACE, 0xCAFE_BABE, 0xDEAD_DEAD, 0xDEAD_C0DE, 0xABAD_1DEA,
    0xBADD_CAFE, 0x8BAD_F00D, 0xDEFE_C8ED, 0xCAFE_D00D,
  ]

  private static func fill(_ word: UInt64) -> WordPattern? {
    if word == swiftPoison { return .swiftFreedObject }
    let byte = UInt8(truncatingIfNeeded: word)
    if word == UInt64(byte) &* 0x0101_0101_0101_0101 {
      // Source: jemalloc include/jemalloc/internal/util.h, JEMALLOC_ALLOC_JUNK.
      return byte == 0x5A ? .jemallocFreed : byte == 0xA5 ? .jemallocNew : .repeatedByte(byte)
    }
    let (low, high) = (UInt32(truncatingIfNeeded: word), UInt32(truncatingIfNeeded: word >> 32))
    guard high == 0 || high == low, spelledNumbers.contains(low) else { return nil }
    return .spelledNumber(low)
  }

  /// The word as text, if it consists of eight printable characters, or of seven and a zero.
  private static func text(of word: UInt64) -> String? {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64($0 * 8)) }
    let text = bytes.prefix { (0x20..<0x7F).contains($0) }
    // Six characters and two zeros may be an address. Seven characters take 56 bits, but an ordinary user address has
    // at most 48 bits.
    guard text.count >= 7, bytes[text.count...].allSatisfy({ $0 == 0 }) else { return nil }
    return String(decoding: text, as: UTF8.self)
  }

  /// The address and the tag of a word whose highest byte is a tag.
  ///
  /// Source: swift stdlib/public/SwiftShims/swift/shims/System.h, SWIFT_ABI_X86_64_SWIFT_SPARE_BITS_MASK.
  private static func tagged(_ word: UInt64) -> (Address, tag: UInt8)? {
    let address = word & 0x00FF_FFFF_FFFF_FFF8
    guard word >> 56 != 0, address >= 0x1_0000, address < 1 << 47 else { return nil }
    return (Address(address), UInt8(truncatingIfNeeded: word >> 56))
  }

  /// Recognizes the second word of a Swift string by the discriminator in its four highest bits.
  ///
  /// Source: swift stdlib/public/core/StringObject.swift.
  private static func string(_ word: UInt64) -> WordPattern? {
    let count = Int(truncatingIfNeeded: word >> 56 & 0xF)
    switch word >> 60 {
    case 0xE, 0xA:
      // The word contains bytes 8 to 14 of the string; bytes after the end of the string are 0.
      let own = max(0, count - 8)
      let rest = word & 0x00FF_FFFF_FFFF_FFFF
      guard (word >> 60 == 0xE || count > 0), rest >> UInt64(own * 8) == 0 || own == 7 else {
        return nil
      }
      return .smallString(count: count)
    case 0x8:
      let address = word & 0x0FFF_FFFF_FFFF_FFFF
      // Swift stores an address that is 32 bytes lower than the literal's, as if the literal had an object header.
      guard address >= 0x1_0000, address < 0x1_0000_0000_0000 else { return nil }
      return .literalString(Address(address).clampedAdding(32))
    default: return nil
    }
  }
}

extension WordPattern {
  /// The pattern's name in the JSON form of a report.
  package var kind: String {
    switch self {
    case .leftOut: "left-out"
    case .swiftFreedObject: "swift-freed-object"
    case .jemallocFreed: "jemalloc-freed"
    case .jemallocNew: "jemalloc-new"
    case .repeatedByte: "repeated-byte"
    case .spelledNumber: "spelled-number"
    case .text: "text"
    case .smallString: "small-string"
    case .literalString: "string-literal"
    case .smallNumber: "small-number"
    case .negative: "negative-number"
    case .taggedAddress: "tagged-address"
    case .impossibleAddress: "impossible-address"
    }
  }

  /// True for a fill pattern, which is evidence that memory was freed or never written.
  package var isFill: Bool {
    switch self {
    case .swiftFreedObject, .jemallocFreed, .jemallocNew, .repeatedByte, .spelledNumber: true
    default: false
    }
  }
}
