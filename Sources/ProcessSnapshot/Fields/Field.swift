package import IntermediateDump

/// A key that a field reads and writes, with the kinds and the size of its value.
///
/// A test compares the kinds and the size with the schema of intermediate dumps.
package struct BoundKey: Sendable {
  package let key: IntermediateDumpKey
  package let kinds: IntermediateDumpKeyKinds
  package let size: Int?
}

/// Binds one key of the dump's schema to a property of `Root`, for reading and for writing.
package struct Field<Root>: Sendable {
  package typealias Path<Value> = any WritableKeyPath<Root, Value> & Sendable

  /// The field's key, then the keys of the maps in the field's value.
  package let keys: [BoundKey]
  /// True if the reader ignores a map that lacks this key.
  let isRequired: Bool
  /// Reads the value if the map has the key; otherwise keeps the old value and returns false.
  package let read: @Sendable (IntermediateDumpMap, inout Root) -> Bool
  package let write: @Sendable (Root, inout IntermediateDumpWriter) -> Void
  /// Closures by key; each returns the key's value if reports show the value unchanged, and nil otherwise.
  package private(set) var shown: [IntermediateDumpKey: @Sendable (Root) -> ShownValue?] = [:]

  /// Binds a key to closures that read and write the value.
  package init(
    _ key: IntermediateDumpKey, _ kinds: IntermediateDumpKeyKinds, size: Int? = nil,
    nested: [BoundKey] = [], isRequired: Bool = false,
    read: @escaping @Sendable (IntermediateDumpMap, inout Root) -> Bool,
    write: @escaping @Sendable (Root, inout IntermediateDumpWriter) -> Void
  ) {
    self.init(
      keys: [BoundKey(key: key, kinds: kinds, size: size)] + nested, isRequired: isRequired,
      read: read, write: write)
  }

  private init(
    keys: [BoundKey], isRequired: Bool,
    read: @escaping @Sendable (IntermediateDumpMap, inout Root) -> Bool,
    write: @escaping @Sendable (Root, inout IntermediateDumpWriter) -> Void
  ) {
    self.keys = keys
    self.isRequired = isRequired
    self.read = read
    self.write = write
  }

  /// Returns this field with `value` as the closure that computes what reports show for the field's first key.
  package func showing(_ value: @escaping @Sendable (Root) -> ShownValue?) -> Field {
    var field = self
    if let key = keys.first?.key { field.shown[key] = value }
    return field
  }

  // MARK: - Properties

  /// Binds a key to an optional property.
  package static func optional<Value: FieldValue>(
    _ key: IntermediateDumpKey, _ path: Path<Value?>
  ) -> Field {
    Field(key, Value.kinds, size: Value.storedSize) { map, root in
      guard let value = Value(key, in: map) else { return false }
      root[keyPath: path] = value
      return true
    } write: { root, writer in
      writer.write(key, root[keyPath: path])
    }.showing { $0[keyPath: path]?.shown }
  }

  /// Binds a key whose value is a number that is stored as text.
  ///
  /// The field is read but not written, because `ProcessSnapshot.encoded()` writes the number as an integer, under
  /// another key (such as `mappingLimit` instead of `mappingLimitText`).
  static func reading<Value: LosslessStringConvertible & SendableMetatype>(
    _ key: IntermediateDumpKey, _ path: Path<Value?>
  ) -> Field {
    Field(key, [.text]) { map, root in
      guard let text = map.text(key) else { return false }
      root[keyPath: path] = Value(text)
      return true
    } write: { _, _ in
    }
  }

  /// Binds a key to a property that is always written.
  ///
  /// If a map lacks the key, the property keeps its old value.
  package static func value<Value: FieldValue>(
    _ key: IntermediateDumpKey, _ path: Path<Value>, isRequired: Bool = false
  ) -> Field {
    Field(key, Value.kinds, size: Value.storedSize, isRequired: isRequired) { map, root in
      guard let value = Value(key, in: map) else { return false }
      root[keyPath: path] = value
      return true
    } write: { root, writer in
      root[keyPath: path].write(key, to: &writer)
    }.showing { $0[keyPath: path].shown }
  }

  /// Binds a key that a map must have; the reader ignores a map without this key.
  package static func required<Value: FieldValue>(
    _ key: IntermediateDumpKey, _ path: Path<Value>
  ) -> Field {
    value(key, path, isRequired: true)
  }

  /// Binds a key to a flag that is stored as one byte, 1 for true; false is not written.
  package static func flag(_ key: IntermediateDumpKey, _ path: Path<Bool>) -> Field {
    Field(key, [.unsigned], size: 1) { map, root in
      guard let code = map.unsigned(key) else { return false }
      root[keyPath: path] = code != 0
      return true
    } write: { root, writer in
      if root[keyPath: path] { writer.unsigned(key, 1, width: 1) }
    }.showing { .flag($0[keyPath: path]) }
  }

  /// Binds a key to lines that are stored as one text; nothing is written if there are no lines.
  ///
  /// A line feed inside a line becomes a space.
  package static func lines(_ key: IntermediateDumpKey, _ path: Path<[String]>) -> Field {
    Field(key, [.text]) { map, root in
      guard let text = map.text(key) else { return false }
      root[keyPath: path] = text.split(separator: "\n").map(String.init)
      return true
    } write: { root, writer in
      let lines = root[keyPath: path]
      if !lines.isEmpty { writer.text(key, lines.asOneText) }
    }.showing { .lines($0[keyPath: path]) }
  }

  // MARK: - Maps and arrays

  /// Binds a key to a nested map that contains several fields of `Root`.
  ///
  /// If a map has several such nested maps, all are read, and a later value replaces an earlier one.
  package static func group(_ key: IntermediateDumpKey, _ fields: [Field]) -> Field {
    var group = Field(key, [.map], nested: fields.flatMap(\.keys)) { map, root in
      let maps = map.maps(key)
      for map in maps {
        for field in fields { _ = field.read(map, &root) }
      }
      return !maps.isEmpty
    } write: { root, writer in
      writer.startMap(key)
      for field in fields { field.write(root, &writer) }
      writer.end()
    }
    for field in fields { group.shown.merge(field.shown) { first, _ in first } }
    return group
  }

  /// Binds a key to a nested map that may be missing; if there are several maps with this key, the first is used.
  package static func map<Value>(
    _ key: IntermediateDumpKey, _ path: Path<Value?>, _ fields: MapFields<Value>
  ) -> Field {
    var field = Field(key, [.map], nested: fields.keys) { map, root in
      guard let value = map.map(key).flatMap(fields.value(of:)) else { return false }
      root[keyPath: path] = value
      return true
    } write: { root, writer in
      guard let value = root[keyPath: path] else { return }
      writer.map(key, value, fields)
    }
    field.shown = fields.shown.mapValues { shown in { $0[keyPath: path].flatMap(shown) } }
    return field
  }

  /// Binds a key to an array of maps; if there are several arrays with this key, all are read.
  ///
  /// - Parameter limit: the maximum number of elements that are read.
  package static func array<Value>(
    _ key: IntermediateDumpKey, of element: IntermediateDumpKey, _ path: Path<[Value]>,
    _ fields: MapFields<Value>, limit: Int = .max
  ) -> Field {
    let nested = [BoundKey(key: element, kinds: [.map], size: nil)] + fields.keys
    return Field(key, [.array], nested: nested) { map, root in
      let maps = map.elements(key)
      guard !maps.isEmpty else { return false }
      root[keyPath: path] = maps.prefix(limit).compactMap(fields.value(of:))
      return true
    } write: { root, writer in
      writer.array(key, of: element, root[keyPath: path], fields)
    }
  }

  /// Binds an optional part of `Root` whose keys are in the map of `Root` itself; the part is nil unless the map has
  /// the part's required keys.
  package static func part<Value>(_ path: Path<Value?>, _ fields: MapFields<Value>) -> Field {
    Field(keys: fields.keys, isRequired: false) { map, root in
      guard let value = fields.value(of: map) else { return false }
      root[keyPath: path] = value
      return true
    } write: { root, writer in
      if let value = root[keyPath: path] { fields.write(value, to: &writer) }
    }
  }

  /// The fields of a part of `Root` that is never nil and whose keys are in the map of `Root` itself.
  package static func within<Value>(_ path: Path<Value>, _ fields: MapFields<Value>) -> [Field] {
    fields.all.map { field in
      var part = Field(keys: field.keys, isRequired: field.isRequired) { map, root in
        field.read(map, &root[keyPath: path])
      } write: { root, writer in
        field.write(root[keyPath: path], &writer)
      }
      part.shown = field.shown.mapValues { shown in { shown($0[keyPath: path]) } }
      return part
    }
  }
}

/// Binds each key of one kind of map in a dump to a property.
package struct MapFields<Value: Sendable>: Sendable {
  /// The value that is read from an empty map.
  private let blank: Value
  package let all: [Field<Value>]
  /// For each key that a report shows, a closure that returns the value to show.
  package let shown: [IntermediateDumpKey: @Sendable (Value) -> ShownValue?]

  package var keys: [BoundKey] { all.flatMap(\.keys) }

  package init(_ blank: Value, _ all: [Field<Value>]) {
    self.blank = blank
    self.all = all
    shown = all.reduce(into: [:]) { shown, field in shown.merge(field.shown) { first, _ in first } }
  }

  /// Reads a value from a map; nil if a required key is missing.
  package func value(of map: IntermediateDumpMap) -> Value? {
    var value = blank
    return read(map, into: &value) ? value : nil
  }

  /// Replaces the properties whose keys are in the map, and leaves the other properties unchanged.
  ///
  /// Returns false if a required key is missing, or if its value is of another kind.
  @discardableResult
  package func read(_ map: IntermediateDumpMap, into value: inout Value) -> Bool {
    var isWhole = true
    for field in all where !field.read(map, &value) && field.isRequired { isWhole = false }
    return isWhole
  }

  package func write(_ value: Value, to writer: inout IntermediateDumpWriter) {
    for field in all { field.write(value, &writer) }
  }
}

extension IntermediateDumpMap {
  /// All maps that this map contains under a key, in file order.
  package func maps(_ key: IntermediateDumpKey) -> [IntermediateDumpMap] {
    entries.compactMap { entry in
      guard entry.key == key.rawValue, case .map(let map) = entry.value else { return nil }
      return map
    }
  }

  /// The maps in all arrays that this map contains under a key, in file order.
  package func elements(_ key: IntermediateDumpKey) -> [IntermediateDumpMap] {
    entries.flatMap { entry -> [IntermediateDumpMap] in
      guard entry.key == key.rawValue, case .array(let elements) = entry.value else { return [] }
      return elements.compactMap { element in
        guard case .map(let map) = element.value else { return nil }
        return map
      }
    }
  }
}

extension IntermediateDumpWriter {
  package mutating func map<Value>(
    _ key: IntermediateDumpKey, _ value: Value, _ fields: MapFields<Value>
  ) {
    startMap(key)
    fields.write(value, to: &self)
    end()
  }

  /// Writes an array of maps, but nothing for an empty array.
  package mutating func array<Value>(
    _ key: IntermediateDumpKey, of element: IntermediateDumpKey, _ values: [Value],
    _ fields: MapFields<Value>
  ) {
    guard !values.isEmpty else { return }
    startArray(key)
    for value in values { map(element, value, fields) }
    end()
  }
}
