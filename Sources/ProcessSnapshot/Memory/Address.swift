package import IntermediateDump

/// A location in the address space of a process or of a module's file.
///
/// The number comes from a dump or a file, and can have any value. `+` and `-` would trap at the ends of the address
/// space, so the type does not have them. No operation of `Address` traps.
public struct Address: Hashable, Comparable, Sendable, CustomStringConvertible {
  public var value: UInt64

  public init(_ value: UInt64) { self.value = value }

  public static let highest = Address(.max)

  public static func < (left: Address, right: Address) -> Bool { left.value < right.value }

  /// Adds with wraparound, as a processor does: 0 follows the last address.
  public static func &+ (address: Address, count: UInt64) -> Address {
    Address(address.value &+ count)
  }

  /// Subtracts with wraparound, as a processor does: the last address precedes 0.
  public static func &- (address: Address, count: UInt64) -> Address {
    Address(address.value &- count)
  }

  /// The address `count` bytes above this one; nil past the last address.
  public func adding(_ count: UInt64) -> Address? {
    let (sum, overflow) = value.addingReportingOverflow(count)
    return overflow ? nil : Address(sum)
  }

  /// The address `count` bytes below this one; nil below 0.
  public func subtracting(_ count: UInt64) -> Address? {
    let (difference, overflow) = value.subtractingReportingOverflow(count)
    return overflow ? nil : Address(difference)
  }

  /// The address `count` bytes above this one, at most the last address.
  public func clampedAdding(_ count: UInt64) -> Address { adding(count) ?? .highest }

  /// The address `count` bytes below this one, at least 0.
  public func clampedSubtracting(_ count: UInt64) -> Address { subtracting(count) ?? 0 }

  /// The distance in bytes from another address up to this one; nil if this one is below the other.
  public func distance(above other: Address) -> UInt64? {
    let (difference, overflow) = value.subtractingReportingOverflow(other.value)
    return overflow ? nil : difference
  }

  /// The distance in bytes from another address up to this one, wrapping around after the last address.
  public func wrappedDistance(above other: Address) -> UInt64 { value &- other.value }

  /// The highest multiple of a power of two that is not above this address.
  public func alignedDown(to power: UInt64) -> Address { Address(value & (0 &- power)) }

  /// The lowest multiple of a power of two that is not below this address; nil if there is none.
  public func alignedUp(to power: UInt64) -> Address? {
    adding(power &- 1).map { $0.alignedDown(to: power) }
  }

  public var description: String { "0x" + String(value, radix: 16) }
}

extension Address: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: UInt64) { self.value = value }
}

/// A range of consecutive bytes in an address space.
///
/// Any start and byte count make a valid range; a part past the last address is cut off. No operation of this type
/// traps. A range that covers the whole address space lacks the last byte, because the full size does not fit into 64
/// bits.
public struct AddressRange: Hashable, Sendable, CustomStringConvertible {
  public let start: Address
  public let byteCount: UInt64

  /// Makes a range of a number of bytes.
  ///
  /// - Parameters:
  ///   - start: the first byte's address.
  ///   - byteCount: the number of bytes, cut off at the end of the address space.
  public init(start: Address, byteCount: UInt64) {
    self.start = start
    let room = (UInt64.max &- start.value).addingReportingOverflow(1)
    self.byteCount = room.overflow ? byteCount : min(byteCount, room.partialValue)
  }

  /// Makes a range from `start` up to but not including `end`; empty if `end` is not above `start`.
  public init(from start: Address, to end: Address) {
    self.start = start
    byteCount = end.distance(above: start) ?? 0
  }

  /// Makes a range from `start` through `last`; nil if `last` is below `start`.
  public init?(from start: Address, through last: Address) {
    guard let distance = last.distance(above: start) else { return nil }
    self.init(start: start, byteCount: distance == .max ? .max : distance &+ 1)
  }

  public var isEmpty: Bool { byteCount == 0 }

  /// The highest address in the range; nil for an empty range.
  public var last: Address? { isEmpty ? nil : start &+ (byteCount &- 1) }

  /// The address after the range; nil if the range includes the last address.
  public var end: Address? { start.adding(byteCount) }

  /// The address after the range, or the last address if none follows; for output and comparisons.
  public var clampedEnd: Address { start.clampedAdding(byteCount) }

  public func contains(_ address: Address) -> Bool { offset(of: address) != nil }

  /// The distance in bytes from the range's start to an address; nil for an address outside the range.
  public func offset(of address: Address) -> UInt64? {
    guard let distance = address.distance(above: start), distance < byteCount else { return nil }
    return distance
  }

  /// True if this range contains all bytes of another range.
  ///
  /// An empty range counts as contained if it starts in this range or right after it.
  public func contains(_ other: AddressRange) -> Bool {
    guard let distance = other.start.distance(above: start), distance <= byteCount else {
      return false
    }
    return other.byteCount <= byteCount &- distance
  }

  public func overlaps(_ other: AddressRange) -> Bool { intersection(other) != nil }

  /// The intersection of both ranges; nil if it is empty.
  public func intersection(_ other: AddressRange) -> AddressRange? {
    guard let last, let otherLast = other.last else { return nil }
    return AddressRange(from: max(start, other.start), through: min(last, otherLast))
  }

  /// True if the whole range is below an address.
  public func ends(atOrBelow address: Address) -> Bool {
    guard let last else { return start <= address }
    return last < address
  }

  /// The number of bytes between this range and another; nil if the other range is not after this one.
  ///
  /// Adjacent ranges have 0 bytes between them.
  public func gap(before other: AddressRange) -> UInt64? {
    end.flatMap { other.start.distance(above: $0) }
  }

  public var description: String { "\(start)-\(clampedEnd)" }
}

extension Address: FieldValue {
  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    guard let value = map.unsigned(key) else { return nil }
    self.init(value)
  }

  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    writer.unsigned(key, value)
  }

  package static var kinds: IntermediateDumpKeyKinds { [.address] }
  package static var storedSize: Int? { 8 }
  package var shown: ShownValue? { .address(self) }
}
