/// The names of the files and the inlined functions that records refer to by number, in the order of their first use.
struct BreakpadNames {
  /// The text that replaces a missing name, because readers reject a record without a name.
  static let unknown = "<name omitted>"
  /// The maximum number of bytes of a name; more text would not make the name clearer.
  private static let maximumLength = 1 << 14

  /// A list of names without duplicates; the text refers to each name by its number.
  private struct List {
    var names: [String] = []
    private var numbers: [String: Int] = [:]

    mutating func number(of name: String, _ limit: WorkLimit) -> Int {
      if let number = numbers[name] { return number }
      // If the memory limit does not allow another name, `unknown` is used. The note of `WorkLimit` then reports that
      // names are missing.
      let isKept = name == BreakpadNames.unknown || limit.take(2 * name.utf8.count + 96)
      guard isKept else { return number(of: BreakpadNames.unknown, limit) }
      numbers[name] = names.count
      names.append(name)
      return names.count - 1
    }
  }

  private let limit: WorkLimit
  private var files = List()
  /// The linkage names of the inlined functions, for INLINE_ORIGIN records.
  private var origins = List()

  init(_ limit: WorkLimit) { self.limit = limit }

  /// Returns the number of a file, or of the unknown file if the path is nil or the memory limit does not allow another
  /// name.
  mutating func number(ofFile path: String?) -> Int {
    files.number(of: path ?? Self.unknown, limit)
  }

  /// Returns the number of the inlined function with this linkage name, or of the unknown function if the name is nil
  /// or the memory limit does not allow another name.
  mutating func number(ofFunction name: String?) -> Int {
    origins.number(of: name ?? Self.unknown, limit)
  }

  /// The FILE and INLINE_ORIGIN records for all numbered names.
  var records: String {
    var text = ""
    for (number, name) in files.names.enumerated() { text += "FILE \(number) \(Self.line(name))\n" }
    for (number, name) in origins.names.enumerated() {
      text += "INLINE_ORIGIN \(number) \(Self.demangled(name))\n"
    }
    return text
  }

  /// Turns a linkage name into the name in the source.
  static func demangled(_ name: String?) -> String {
    guard let name else { return unknown }
    return line(Demangler.demangle(name) ?? name)
  }

  /// Makes a name fit into a line of text, without control characters; an empty name becomes `unknown`.
  static func line(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    if isPlain, name.utf8.count <= maximumLength { return name.isEmpty ? unknown : name }
    let bytes = name.utf8.prefix(maximumLength).map { $0 < 0x20 || $0 == 0x7F ? 0x3F : $0 }
    return String(decoding: bytes, as: UTF8.self)
  }
}
