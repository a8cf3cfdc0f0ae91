/// The files and the inlined functions that records refer to by number, in the order of their first use.
struct BreakpadNames {
  /// Stands for a name that the file does not have; a record without one cannot be read.
  static let unknown = "<name omitted>"
  /// A longer name is cut: it makes the text no clearer.
  private static let maximumLength = 1 << 14

  private let limit: WorkLimit
  private var files: [String: Int] = [:]
  private var origins: [String: Int] = [:]
  private(set) var fileNames: [String] = []
  /// Linkage names.
  private var originNames: [String] = []

  init(_ limit: WorkLimit) { self.limit = limit }

  /// Returns a file's number; that of an unknown one if there is no memory for another.
  mutating func number(ofFile path: String?) -> Int {
    Self.number(of: path ?? Self.unknown, in: &files, &fileNames, limit)
  }

  /// Returns an inlined function's number by its linkage name.
  mutating func number(ofFunction name: String?) -> Int {
    Self.number(of: name ?? Self.unknown, in: &origins, &originNames, limit)
  }

  private static func number(
    of name: String, in known: inout [String: Int], _ list: inout [String], _ limit: WorkLimit
  ) -> Int {
    if let number = known[name] { return number }
    guard limit.take(2 * name.utf8.count + 96) else {
      // The limit says that names are missing.
      return known[unknown] ?? add(unknown, to: &known, &list)
    }
    return add(name, to: &known, &list)
  }

  private static func add(
    _ name: String, to known: inout [String: Int], _ list: inout [String]
  ) -> Int {
    known[name] = list.count
    list.append(name)
    return list.count - 1
  }

  /// The records of all that was numbered.
  var records: String {
    var text = ""
    for (number, name) in fileNames.enumerated() { text += "FILE \(number) \(Self.line(name))\n" }
    for (number, name) in originNames.enumerated() {
      text += "INLINE_ORIGIN \(number) \(Self.demangled(name))\n"
    }
    return text
  }

  /// Turns a linkage name into the source's.
  static func demangled(_ name: String?) -> String {
    guard let name else { return unknown }
    return line(Demangler.demangle(name) ?? name)
  }

  /// Makes a name fit into a line: without control characters, and not empty.
  static func line(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    if isPlain, name.utf8.count <= maximumLength { return name.isEmpty ? unknown : name }
    let bytes = name.utf8.prefix(maximumLength).map { $0 < 0x20 || $0 == 0x7F ? 0x3F : $0 }
    return String(decoding: bytes, as: UTF8.self)
  }
}
