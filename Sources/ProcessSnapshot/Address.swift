/// A place in an address space: of a process, or of a module's file.
///
/// Its number comes out of a dump or a file, and can be any. So there is no `+` and no `-`, which
/// would end the process at the ends of the address space: each operation says what happens there,
/// and none traps. A test keeps the trapping ones out of the modules that read dumps
/// (`Tests/Proofs/Readers/TrappingArithmetic.swift`).
public struct Address: Hashable, Comparable, Sendable, CustomStringConvertible {
  public var value: UInt64

  public init(_ value: UInt64) { self.value = value }

  public static let highest = Address(.max)

  public static func < (left: Address, right: Address) -> Bool { left.value < right.value }

  /// As a processor adds: behind the last address comes 0.
  public static func &+ (address: Address, count: UInt64) -> Address {
    Address(address.value &+ count)
  }

  /// As a processor subtracts: before 0 comes the last address.
  public static func &- (address: Address, count: UInt64) -> Address {
    Address(address.value &- count)
  }

  /// So many bytes on; nil behind the last address.
  public func adding(_ count: UInt64) -> Address? {
    let (sum, overflow) = value.addingReportingOverflow(count)
    return overflow ? nil : Address(sum)
  }

  /// So many bytes back; nil before 0.
  public func subtracting(_ count: UInt64) -> Address? {
    let (difference, overflow) = value.subtractingReportingOverflow(count)
    return overflow ? nil : Address(difference)
  }

  /// So many bytes on, or the last address if that comes first.
  public func clampedAdding(_ count: UInt64) -> Address { adding(count) ?? .highest }

  /// So many bytes back, or 0 if that comes first.
  public func clampedSubtracting(_ count: UInt64) -> Address { subtracting(count) ?? 0 }

  /// How many bytes this one lies above another; nil if it lies below.
  public func distance(above other: Address) -> UInt64? {
    let (difference, overflow) = value.subtractingReportingOverflow(other.value)
    return overflow ? nil : difference
  }

  /// How many bytes one has to go on from another to come here, across the last address if need be.
  public func wrappedDistance(above other: Address) -> UInt64 { value &- other.value }

  /// The highest multiple of a power of two that is not above this address.
  public func alignedDown(to power: UInt64) -> Address { Address(value & (0 &- power)) }

  /// The lowest multiple of a power of two that is not below this address; nil where there is none.
  public func alignedUp(to power: UInt64) -> Address? {
    adding(power &- 1).map { $0.alignedDown(to: power) }
  }

  public var description: String { "0x" + String(value, radix: 16) }
}

extension Address: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: UInt64) { self.value = value }
}
