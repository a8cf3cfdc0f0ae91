internal import DumpInspection
package import IntermediateDump

/// The facts of a report that are in an export but not in a list.
///
/// In a record of the index, these facts follow the facts that a list shows; each of them is a field. A field has a key
/// (1 byte), the size of the contents (2 bytes) and the contents, little-endian. A reader skips keys that it does not
/// know.
package struct ReportDetails: Sendable, Equatable {
  /// What a report is about.
  package enum Kind: UInt64, Sendable, CaseIterable {
    case crash = 1
    /// A hang, whether it lasted until the process ended or not.
    case hang = 2
    /// A dump that was requested without a crash or a hang, of a process that continued.
    case dump = 3
    /// The end of a run that left no dump, for example because the process was killed or the machine rebooted.
    case end = 4
    /// SIGQUIT from another process or a terminal, which asked the process to end.
    case quit = 5

    /// The word for this kind in an export.
    package var word: String {
      switch self {
      case .crash: "crash"
      case .hang: "hang"
      case .dump: "dump"
      case .end: "end"
      case .quit: "quit"
      }
    }
  }

  /// Facts that are texts; the raw value is the key of the fact's field.
  ///
  /// `IndexNames` defines the keys of facts that a dump contains directly.
  package struct Text: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt8

    /// Returns nil for an unknown key.
    package init?(rawValue: UInt8) {
      guard Self.known.contains(rawValue) else { return nil }
      self.rawValue = rawValue
    }

    private init(_ rawValue: UInt8) { self.rawValue = rawValue }

    package static let codeName = Text(32)
    /// The signal that ended a run without a dump.
    package static let endSignal = Text(33)
    package static let containerID = Text(36)
    /// The executable's build ID, in hexadecimal.
    package static let buildID = Text(39)
    package static let architecture = Text(40)

    private static let derived = [codeName, endSignal, containerID, buildID, architecture]
    /// All facts, in the order of their keys.
    package static let all = (derived + IndexNames.all.map { Text($0.fact.field) })
      .filter { keys.contains($0.rawValue) }.sorted { $0.rawValue < $1.rawValue }
    private static let known = Set(all.map(\.rawValue))
    fileprivate static let keys: Range<UInt8> = 32..<64

    fileprivate var place: Int { Int(rawValue &- Self.keys.lowerBound) }
  }

  /// Facts that are numbers; the raw value is the key of the fact's field.
  package struct Number: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt8

    /// Returns nil for an unknown key.
    package init?(rawValue: UInt8) {
      guard Self.known.contains(rawValue) else { return nil }
      self.rawValue = rawValue
    }

    private init(_ rawValue: UInt8) { self.rawValue = rawValue }

    package static let kind = Number(1)
    /// The bits of the signal's code in siginfo_t.
    package static let code = Number(2)
    /// The time from the handler's start to the crash, in nanoseconds.
    package static let uptime = Number(4)
    /// The resident memory in bytes.
    package static let residentMemory = Number(6)
    package static let peakMemory = Number(7)
    /// The time from the process's start to the crash, in nanoseconds.
    package static let age = Number(12)
    /// The number of tasks of Swift concurrency.
    package static let tasks = Number(13)
    /// The number of units of work in flight (`withContext` calls that had not ended).
    package static let inFlight = Number(14)
    /// The age of the oldest unit of work in flight, in nanoseconds.
    package static let oldestInFlight = Number(15)

    private static let derived = [
      kind, code, uptime, residentMemory, peakMemory, age, tasks, inFlight, oldestInFlight,
    ]
    /// All facts, in the order of their keys.
    package static let all = (derived + IndexNames.all.map { Number($0.fact.field) })
      .filter { keys.contains($0.rawValue) }.sorted { $0.rawValue < $1.rawValue }
    private static let known = Set(all.map(\.rawValue))
    fileprivate static let keys: Range<UInt8> = 0..<31

    fileprivate var place: Int { Int(rawValue) }
  }

  /// An annotation, or a value of a unit of work.
  package struct Tag: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  private var texts = [String?](repeating: nil, count: Text.keys.count)
  private var numbers = [UInt64?](repeating: nil, count: Number.keys.count)
  /// True if the dump was complete; false for a truncated dump.
  package var isComplete = true
  /// True if a text was cut, or fields were left out, because the record had no room for them.
  package var isCut = false
  /// The innermost calls of the program's own code.
  package var ownFrames: [String] = []
  /// The innermost calls of the crashing thread.
  package var stack: [String] = []
  /// The report's annotations, sorted by name.
  package var tags: [Tag] = []
  /// The `withContext` values of the oldest unit of work in flight, outermost first.
  package var inFlightValues: [Tag] = []

  package init() {}

  package subscript(fact: Text) -> String? {
    get { texts[fact.place] }
    set { texts[fact.place] = newValue }
  }

  package subscript(fact: Number) -> UInt64? {
    get { numbers[fact.place] }
    set { numbers[fact.place] = newValue }
  }

  /// The text under a key of a dump; nil if the record has none, or if the index does not store the key as a text.
  package subscript(text key: IntermediateDumpKey) -> String? {
    get { IndexNames.of(key).flatMap { Text(rawValue: $0.field) }.flatMap { self[$0] } }
    set {
      if let fact = IndexNames.of(key).flatMap({ Text(rawValue: $0.field) }) {
        self[fact] = newValue
      }
    }
  }

  /// The number under a key of a dump; nil if the record has none, or if the index does not store the key as a number.
  package subscript(number key: IntermediateDumpKey) -> UInt64? {
    get { IndexNames.of(key).flatMap { Number(rawValue: $0.field) }.flatMap { self[$0] } }
    set {
      if let fact = IndexNames.of(key).flatMap({ Number(rawValue: $0.field) }) {
        self[fact] = newValue
      }
    }
  }

  /// The kind of report; nil if the record has none, or one that this version does not know.
  package var kind: Kind? {
    get { self[.kind].flatMap(Kind.init(rawValue:)) }
    set { self[.kind] = newValue?.rawValue }
  }
}

extension ReportDetails {
  /// The numbers of the fields in a record that are neither a `Text` nor a `Number`.
  private enum Key {
    static let flags: UInt8 = 31
    static let ownFrame: UInt8 = 64
    static let frame: UInt8 = 65
    static let tag: UInt8 = 66
    static let inFlightValue: UInt8 = 67
  }

  /// The maximum number of bytes of one text.
  private static let maximumTextSize = 256
  /// The maximum number of bytes of an annotation's value.
  private static let maximumValueSize = 1 << 10
  /// The maximum number of bytes of all fields.
  ///
  /// Together with the facts that `postmortem list` shows, the fields stay below the maximum size of a record.
  private static let maximumSize = 6 << 10
  private static let headSize = 3
  private static let numberSize = 8

  /// The facts, encoded as the fields of an index record; long texts are cut, and fields that do not fit are left out.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    var isCut = isCut
    func append(_ key: UInt8, _ contents: [UInt8]) {
      bytes.append(key)
      bytes.append(littleEndian: UInt16(clamping: contents.count))
      bytes += contents
    }
    func add(_ key: UInt8, _ contents: [UInt8]) {
      // Room is reserved here for the flags, which come last.
      let room = Self.maximumSize - 2 * Self.headSize - Self.numberSize
      guard bytes.count + contents.count <= room else {
        isCut = true
        return
      }
      append(key, contents)
    }
    func cut(_ text: String, to size: Int = Self.maximumTextSize) -> [UInt8] {
      let kept = text.cut(toBytes: size)
      if kept.endIndex < text.endIndex { isCut = true }
      return Array(kept.utf8)
    }
    for fact in Number.all {
      if let number = self[fact] { add(fact.rawValue, Self.bytes(of: number)) }
    }
    for fact in Text.all {
      if let text = self[fact] { add(fact.rawValue, cut(text)) }
    }
    for frame in ownFrames { add(Key.ownFrame, cut(frame)) }
    for frame in stack { add(Key.frame, cut(frame)) }
    for (key, tag) in inFlightValues.map({ (Key.inFlightValue, $0) }) + tags.map({ (Key.tag, $0) })
    {
      let name = cut(tag.name)
      var contents: [UInt8] = []
      contents.append(littleEndian: UInt16(clamping: name.count))
      add(key, contents + name + cut(tag.value, to: Self.maximumValueSize))
    }
    append(Key.flags, Self.bytes(of: (isComplete ? 1 : 0) | (isCut ? 2 : 0)))
    return bytes
  }

  private static func bytes(of number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number)
    return bytes
  }

  /// Reads the output of `bytes`; nil if it is incomplete.
  package init?(reading bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while let key = rest.first {
      guard let size = rest.littleEndian(at: 1, as: UInt16.self),
        rest.count - Self.headSize >= Int(size)
      else { return nil }
      let contents = rest.dropFirst(Self.headSize).prefix(Int(size))
      rest = rest.dropFirst(Self.headSize + Int(size))
      guard read(key, contents) else { return nil }
    }
  }

  /// - Returns: false if the contents are too short.
  private mutating func read(_ key: UInt8, _ contents: ArraySlice<UInt8>) -> Bool {
    func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
    switch key {
    case Key.ownFrame: ownFrames.append(text(contents))
    case Key.frame: stack.append(text(contents))
    case Key.tag, Key.inFlightValue:
      guard let size = contents.littleEndian(at: 0, as: UInt16.self),
        contents.count - 2 >= Int(size)
      else { return false }
      let both = contents.dropFirst(2)
      let tag = Tag(name: text(both.prefix(Int(size))), value: text(both.dropFirst(Int(size))))
      if key == Key.tag { tags.append(tag) } else { inFlightValues.append(tag) }
    case 0..<Text.keys.lowerBound:
      guard let number = contents.littleEndian(at: 0, as: UInt64.self) else { return false }
      if key == Key.flags { (isComplete, isCut) = (number & 1 != 0, number & 2 != 0) }
      if let fact = Number(rawValue: key) { self[fact] = number }
    default:
      if let fact = Text(rawValue: key) { self[fact] = text(contents) }
    }
    return true
  }
}
