internal import CSignalSafe
internal import IntermediateDump

/// A named value of the program; every report of this process shows its value at that time.
///
/// ```swift
/// let route = Annotation<String>("route", capacity: 64)
/// let connections = Annotation<Int>("connections")
///
/// route.set("GET /orders")
/// connections.set(17)
/// ```
///
/// The value belongs to the process: if many requests run at the same time, the report has the value that was set
/// last. Use `withContext` for values of a request.
///
/// Create it once and keep it, for example in a `static let`: its name and room are never freed. A process can have
/// at most 400 annotations and about 800 KB in all. Setting takes well under a microsecond, and never locks or
/// allocates. Any number of threads can set it at the same time, also before `startHandler`. If the process crashes
/// while it is set, reports show the complete old or new value, and say if a newer value was being set. A forked
/// child has its own copy. `String`, `Int`, `UInt`, `Double` and `Bool` can be set.
///
/// Two annotations with the same name, type and capacity are the same annotation.
///
/// Source: Crashpad `client/annotation.h`.
@safe
public struct Annotation<Value: Sendable>: Sendable {
  /// The offset in the list; 0 if there was no room.
  private let offset: UInt32
  /// The offset of a number's cell, so that setting it does not read the node; 0 for a text.
  private let numberOffset: UInt32

  /// False if there was no room for it: setting it then has no effect, and reports count it as left out.
  public var isKept: Bool { offset != 0 }

  private init(name: StaticString, type: AnnotationType, capacity: Int) {
    let list = ClientMemory.ofProcess.annotations
    offset = unsafe ClientText.withBytes(
      of: name, atMost: AnnotationList.maximumNameCount
    ) { name, count in
      unsafe list.offset(
        name: name, nameCount: count, type: UInt32(type.code),
        capacity: min(max(capacity, 1), AnnotationList.maximumCapacity))
    }
    numberOffset = type == .text ? 0 : list.numberOffset(offset)
  }

  /// Removes the value: reports no longer show it.
  public func clear() {
    number?.clear()
    text?.clear()
  }

  private var number: NumberCell? {
    ClientMemory.ofProcess.annotations.number(numberOffset)
  }

  /// The cell of a text; nil for a number, and if there was no room.
  private var text: ValueCell? {
    numberOffset == 0 ? ClientMemory.ofProcess.annotations.node(offset)?.text : nil
  }
}

extension Annotation where Value == String {
  /// Makes a text annotation.
  ///
  /// - Parameters:
  ///   - name: at most 255 bytes.
  ///   - capacity: the number of UTF-8 bytes that are kept of a value, up to 20,480. A longer value is cut before the
  ///     first character that does not fit. The annotation takes four times as much memory.
  public init(_ name: StaticString, capacity: Int = 255) {
    self.init(name: name, type: .text, capacity: capacity)
  }

  public func set(_ value: String) {
    guard let text else { return }
    unsafe ClientText.withBytes(of: value, atMost: text.capacity) { bytes, count in
      _ = unsafe text.set(key: nil, keyCount: 0, value: bytes, valueCount: count, replacing: nil)
    }
  }
}

extension Annotation where Value == Int {
  /// Makes a number annotation; the name has at most 255 bytes.
  public init(_ name: StaticString) {
    self.init(name: name, type: .signed, capacity: 8)
  }

  public func set(_ value: Int) { number?.set(UInt64(bitPattern: Int64(value))) }
}

extension Annotation where Value == UInt {
  /// Makes a number annotation; the name has at most 255 bytes.
  public init(_ name: StaticString) {
    self.init(name: name, type: .unsigned, capacity: 8)
  }

  public func set(_ value: UInt) { number?.set(UInt64(value)) }
}

extension Annotation where Value == Double {
  /// Makes a number annotation; the name has at most 255 bytes.
  public init(_ name: StaticString) {
    self.init(name: name, type: .double, capacity: 8)
  }

  public func set(_ value: Double) { number?.set(value.bitPattern) }
}

extension Annotation where Value == Bool {
  /// Creates a Boolean annotation; the name has at most 255 bytes.
  public init(_ name: StaticString) {
    self.init(name: name, type: .bool, capacity: 8)
  }

  public func set(_ value: Bool) { number?.set(value ? 1 : 0) }
}
