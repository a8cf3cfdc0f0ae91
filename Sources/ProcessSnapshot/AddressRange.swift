/// Bytes that follow each other in an address space, up to the last one that there is.
///
/// Made of any two numbers it is a range: what would lie behind the last address is cut off. None of
/// its operations traps. A whole address space, of one byte more than 64 bits can count, lacks the
/// last.
public struct AddressRange: Hashable, Sendable, CustomStringConvertible {
  public let start: Address
  public let byteCount: UInt64

  /// - Parameter byteCount: fewer, where the address space ends before.
  public init(start: Address, byteCount: UInt64) {
    self.start = start
    let room = (UInt64.max &- start.value).addingReportingOverflow(1)
    self.byteCount = room.overflow ? byteCount : min(byteCount, room.partialValue)
  }

  /// From an address up to another, which does not belong to it; empty where that is not above it.
  public init(from start: Address, to end: Address) {
    self.start = start
    byteCount = end.distance(above: start) ?? 0
  }

  /// From an address to another, which belongs to it; nil where that is below.
  public init?(from start: Address, through last: Address) {
    guard let distance = last.distance(above: start) else { return nil }
    self.init(start: start, byteCount: distance == .max ? .max : distance &+ 1)
  }

  public var isEmpty: Bool { byteCount == 0 }

  /// The highest address in it; nil of an empty range.
  public var last: Address? { isEmpty ? nil : start &+ (byteCount &- 1) }

  /// The address behind it; nil where it goes up to the last address.
  public var end: Address? { start.adding(byteCount) }

  /// The address behind it, or the last one where there is none behind: to be shown, and to be
  /// compared with.
  public var clampedEnd: Address { start.clampedAdding(byteCount) }

  public func contains(_ address: Address) -> Bool {
    guard let distance = address.distance(above: start) else { return false }
    return distance < byteCount
  }

  /// How many bytes an address lies above the start; nil for one outside.
  public func offset(of address: Address) -> UInt64? {
    guard let distance = address.distance(above: start), distance < byteCount else { return nil }
    return distance
  }

  /// Whether all bytes of another are in this one; of an empty one, whether it starts in it or right
  /// behind it.
  public func contains(_ other: AddressRange) -> Bool {
    guard let distance = other.start.distance(above: start), distance <= byteCount else {
      return false
    }
    return other.byteCount <= byteCount &- distance
  }

  public func overlaps(_ other: AddressRange) -> Bool { intersection(other) != nil }

  /// What both have; nil where that is nothing.
  public func intersection(_ other: AddressRange) -> AddressRange? {
    guard let last, let otherLast = other.last else { return nil }
    return AddressRange(from: max(start, other.start), through: min(last, otherLast))
  }

  /// Whether all of it lies below an address.
  public func ends(atOrBelow address: Address) -> Bool {
    guard let last else { return start <= address }
    return last < address
  }

  /// How many bytes lie between this one and another; nil where that does not lie behind this one.
  ///
  /// Ranges that touch have 0 between them.
  public func gap(before other: AddressRange) -> UInt64? {
    end.flatMap { other.start.distance(above: $0) }
  }

  public var description: String { "\(start)-\(clampedEnd)" }
}
