internal import CSignalSafe
internal import IntermediateDump

/// A named value that the program sets; reports from dumps of this process show the value at the time of the dump.
///
/// ```swift
/// let route = Annotation<String>("route", capacity: 64)
/// let connections = Annotation<Int>("connections")
///
/// route.set("GET /orders")
/// connections.set(17)
/// ```
///
/// The whole process shares the value. If many requests run at the same time, the report shows the value that was set
/// last. For a value that belongs to one request, use `withContext`.
///
/// Create an annotation once and keep it, for example in a `static let`, because the memory for its name and value is
/// never freed. A process can have at most 400 annotations, which together take at most 790 KiB. Setting an
/// annotation takes well under a microsecond, and never locks or allocates. Any number of threads can set an
/// annotation at the same time, even before `startHandler`. If the process crashes while an annotation is being set,
/// reports show a complete value: the old one, with a note that a newer one was being set, or the new one.
/// A forked child has its own copy of all annotations. If `HandlerOptions.privacy` is not `full`, dumps leave out
/// annotations. The type `Value` can be `String`, `Int`, `UInt`, `Double` or `Bool`.
///
/// Two annotations with the same name, type and capacity are the same annotation, so they share one value.
///
/// Source: Crashpad `client/annotation.h`.
@safe
public struct Annotation<Value: Sendable>: Sendable {
  /// The annotation's offset in the list of annotations; 0 if there was no room for the annotation.
  private let offset: UInt32
  /// For a number annotation, the offset of the cell with its value, so that setting the value need not read the
  /// annotation's node in the list; 0 for text.
  private let numberOffset: UInt32

  /// False if there was no room for the annotation.
  ///
  /// Setting such an annotation has no effect, and reports count it as left out.
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

  /// Removes the value, so that reports no longer show it.
  public func clear() {
    number?.clear()
    text?.clear()
  }

  private var number: NumberCell? {
    ClientMemory.ofProcess.annotations.number(numberOffset)
  }

  /// The cell of a text annotation; nil for a number, or if there was no room.
  private var text: ValueCell? {
    numberOffset == 0 ? ClientMemory.ofProcess.annotations.node(offset)?.text : nil
  }
}

extension Annotation where Value == String {
  /// Creates a text annotation.
  ///
  /// - Parameters:
  ///   - name: at most 255 bytes.
  ///   - capacity: the maximum number of UTF-8 bytes of a value that are kept, up to 20,480. A longer value is cut
  ///     before the first character that does not fit. The annotation takes a little more than four times its capacity
  ///     in memory, because it has four buffers.
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
  /// Creates a number annotation; the name has at most 255 bytes.
  public init(_ name: StaticString) {
    self.init(name: name, type: .signed, capacity: 8)
  }

  public func set(_ value: Int) { number?.set(UInt64(bitPattern: Int64(value))) }
}

extension Annotation where Value == UInt {
  /// Creates a number annotation; the name has at most 255 bytes.
  public init(_ name: StaticString) {
    self.init(name: name, type: .unsigned, capacity: 8)
  }

  public func set(_ value: UInt) { number?.set(UInt64(value)) }
}

extension Annotation where Value == Double {
  /// Creates a number annotation; the name has at most 255 bytes.
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
