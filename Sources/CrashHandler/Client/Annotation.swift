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
/// at most 400 annotations and some 800 KB in all. Setting takes well under a microsecond, and never locks or
/// allocates. Any number of threads can set it at the same time, also before `startHandler`. A crash while it is set
/// shows the complete old or new value, and notes if a newer value was being set. A forked child has its own copy.
/// `String`, `Int`, `UInt`, `Double` and `Bool` can be set.
///
/// Two of the same name, type and capacity are the same annotation.
///
/// Source: Crashpad `client/annotation.h`.
@safe
public struct Annotation<Value: Sendable>: Sendable {
  /// The place in the list; 0 if there was no room.
  private let offset: UInt32
  /// The place of a number's cell, so that setting it does not read the node; 0 for a text.
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

  /// Nil for a number too.
  private var text: ValueCell? {
    numberOffset == 0 ? ClientMemory.ofProcess.annotations.node(offset)?.text : nil
  }
}

extension Annotation where Value == String {
  /// Makes a text annotation.
  ///
  /// - Parameters:
  ///   - name: at most 255 bytes.
  ///   - capacity: UTF-8 bytes that are kept of a value, up to 20,480; of a longer one those before the first
  ///     character that does not fit. It takes four times as much memory.
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
