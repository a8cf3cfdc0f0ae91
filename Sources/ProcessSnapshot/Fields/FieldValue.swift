package import IntermediateDump

/// A value that a property of a dump can hold.
package protocol FieldValue: Sendable {
  /// Reads a key's value; nil if the map lacks the key, or if this type cannot represent the stored value.
  init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap)

  func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter)

  /// The kinds that the schema may declare for a key whose values have this type.
  static var kinds: IntermediateDumpKeyKinds { get }
  /// The number of bytes of a stored value; nil if the number can vary.
  static var storedSize: Int? { get }
  /// The value as a report shows it; nil if a report would show only a part of the value.
  var shown: ShownValue? { get }
}

/// A value of a dump that a report shows unchanged.
package enum ShownValue: Sendable, Equatable {
  case unsigned(UInt64)
  case signed(Int64)
  case address(Address)
  case flag(Bool)
  case text(String)
  case lines([String])
  case members([String: String])
}

extension FieldValue {
  package var shown: ShownValue? { nil }
  package static var storedSize: Int? { nil }
}

extension IntermediateDumpMap {
  /// The value of a key; nil if the map lacks the key, or if `Value` cannot represent the stored value.
  package subscript<Value: FieldValue>(key: IntermediateDumpKey) -> Value? {
    Value(key, in: self)
  }
}

extension IntermediateDumpWriter {
  /// Writes a value, or nothing for nil.
  ///
  /// Crash code must not call this function, because it may allocate memory.
  package mutating func write(_ key: IntermediateDumpKey, _ value: (some FieldValue)?) {
    value?.write(key, to: &self)
  }
}

// Integers are stored with the width of their type, and read from any width if the value fits.
extension FieldValue where Self: FixedWidthInteger {
  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    let value =
      Self.isSigned
      ? map.signed(key).flatMap(Self.init(exactly:))
      : map.unsigned(key).flatMap(Self.init(exactly:))
    guard let value else { return nil }
    self = value
  }

  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    writer.unsigned(key, UInt64(truncatingIfNeeded: self), width: Self.bitWidth / 8)
  }

  package static var kinds: IntermediateDumpKeyKinds {
    isSigned ? [.signed, .time] : [.unsigned, .address]
  }
  package static var storedSize: Int? { bitWidth / 8 }
  package var shown: ShownValue? {
    Self.isSigned
      ? .signed(Int64(truncatingIfNeeded: self)) : .unsigned(UInt64(truncatingIfNeeded: self))
  }
}

extension UInt8: FieldValue {}
extension UInt32: FieldValue {}
extension UInt64: FieldValue {}
extension Int32: FieldValue {}
extension Int64: FieldValue {}

// A RawRepresentable value is stored as its raw value; an enum's unknown raw value is read as nil.
extension FieldValue where Self: RawRepresentable, RawValue: FieldValue {
  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    guard let code = RawValue(key, in: map) else { return nil }
    self.init(rawValue: code)
  }

  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    rawValue.write(key, to: &writer)
  }

  package static var kinds: IntermediateDumpKeyKinds { RawValue.kinds }
  package static var storedSize: Int? { RawValue.storedSize }
}

extension FieldValue where Self: DumpCode {
  package var shown: ShownValue? { .text(word) }
}

extension String: FieldValue {
  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    guard let text = map.text(key) else { return nil }
    self = text
  }

  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    writer.text(key, self)
  }

  package static var kinds: IntermediateDumpKeyKinds { [.text] }
  package var shown: ShownValue? { .text(self) }
}

// Bytes, including text whose bytes must stay unchanged.
extension [UInt8]: FieldValue {
  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    guard let data = map.data(key) else { return nil }
    self.init(data)
  }

  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    writer.bytes(key, self)
  }

  package static var kinds: IntermediateDumpKeyKinds { [.bytes, .text] }
}

extension ReportID: FieldValue {
  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    guard let data = map.data(key) else { return nil }
    self.init(bytes: data)
  }

  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    writer.bytes(key, bytes)
  }

  package static var kinds: IntermediateDumpKeyKinds { [.bytes] }
  package static var storedSize: Int? { 16 }
  package var shown: ShownValue? { .text(description) }
}

extension BreadcrumbMetadata: FieldValue {
  package var shown: ShownValue? {
    .members(Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }))
  }

  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    guard let data = map.data(key) else { return nil }
    self.init(data)
  }

  /// Writes the pairs; writes nothing if there are none.
  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    if !pairs.isEmpty { writer.bytes(key, bytes) }
  }

  package static var kinds: IntermediateDumpKeyKinds { [.text] }
}

extension ReportPrivacy: FieldValue {
  package var shown: ShownValue? { .text(name) }
}

// These enums are stored as their raw values.
extension AnnotationState: FieldValue {}
extension AnnotationType: FieldValue {}
extension BreadcrumbLevel: FieldValue {}
extension CaptureMethod: FieldValue {}
extension DescriptorKind: FieldValue {}
extension FindingCertainty: FieldValue {}
extension HangTarget: FieldValue {}
extension HangThreadEvidence: FieldValue {}
extension ModuleSource: FieldValue {}
extension RequestKind: FieldValue {}
extension RunEndCertainty: FieldValue {}
extension RunEndKind: FieldValue {}
extension SurvivalOutcome: FieldValue {}
