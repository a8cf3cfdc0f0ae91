internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump

/// JSON text that is built byte by byte: an export has hundreds of megabytes of it.
struct JSONBytes {
  private(set) var bytes: [UInt8] = []

  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  /// Adds punctuation, or a text that is JSON already.
  mutating func add(verbatim text: StaticString) {
    unsafe bytes.append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  mutating func add(verbatim text: String) { bytes.append(contentsOf: text.utf8) }

  mutating func add(_ value: ExportValue) {
    switch value {
    case .none: add(verbatim: "null")
    case .text(let text): add(text)
    case .integer(let number): add(verbatim: String(number))
    case .boolean(let isTrue): add(verbatim: isTrue ? "true" : "false" as StaticString)
    case .time(let time): add(time)
    case .seconds(let nanoseconds):
      add(verbatim: String(nanoseconds / 1_000_000_000))
      let fraction = String(nanoseconds % 1_000_000_000 / 1_000_000)
      add(verbatim: "." + String(repeating: "0", count: max(0, 3 - fraction.utf8.count)) + fraction)
    case .texts(let texts):
      add(verbatim: "[")
      for (index, text) in texts.enumerated() {
        if index > 0 { add(verbatim: ",") }
        add(text)
      }
      add(verbatim: "]")
    case .map(let members):
      add(verbatim: "{")
      for (index, member) in members.enumerated() {
        if index > 0 { add(verbatim: ",") }
        add(member.name)
        add(verbatim: ":")
        add(member.value)
      }
      add(verbatim: "}")
    }
  }

  /// Adds a string, without characters that steer a terminal.
  ///
  /// Source: RFC 8259, 7.
  mutating func add(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    if text.utf8.allSatisfy(Self.isPlain) {
      bytes.append(contentsOf: text.utf8)
    } else {
      addEscaped(text)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  private mutating func addEscaped(_ text: String) {
    var escaped: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): escaped += [UInt8(ascii: "\\"), byte]
      case 0..<0x20: escaped.append(contentsOf: "\\u\(byte.hexadecimal(digits: 4))".utf8)
      default: escaped.append(byte)
      }
    }
    bytes.append(contentsOf: String(decoding: escaped, as: UTF8.self).escapedForJSON().utf8)
  }

  /// Adds a moment to the microsecond: nanoseconds are not read by all.
  private mutating func add(_ time: Timestamp) {
    add(verbatim: "\"")
    add(verbatim: String(time.description.dropLast(4)))
    add(verbatim: "Z\"")
  }
}
