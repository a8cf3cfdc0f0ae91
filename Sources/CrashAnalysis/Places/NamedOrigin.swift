internal import Stackwalk

/// The place in the program that a message of the Swift runtime names, if it is none of the places on the stack.
///
/// Code that finds a mistake late, such as the end of a promise that was never kept, passes the file and the line where
/// the mistake was made to `fatalError`, or writes them into the message. The stack is the same for all such mistakes.
enum NamedOrigin {
  /// The maximum number of lines between a call and the place that it names as its own, because a call can have several
  /// lines.
  private static let callLines: UInt = 2

  /// The place as text, such as "Server.swift:31"; nil if there is none, or if no source file of the stack is known.
  static func text(in message: SwiftMessage, _ frames: [StackFrame]) -> String? {
    let known = frames.compactMap(\.sourceLocation)
    guard known.contains(where: { $0.line != nil }) else { return nil }
    return places(in: message).first { place in
      !known.contains { location in
        location.file.split(separator: "/").last.map(String.init) == place.file
          && location.line.map { ($0 &- place.line).magnitude <= callLines } ?? true
      }
    }.map { "\($0.file):\($0.line)" }
  }

  private static func places(in message: SwiftMessage) -> [(file: String, line: Int)] {
    let words = message.words.prefix(512)
    let own = message.file.flatMap { file -> [(file: String, line: Int)] in
      let parts = file.split(separator: "/")
      // The standard library names its own files.
      guard let module = parts.first, let name = parts.last, let line = message.line,
        parts.count != 2 || !RuntimeCode.isModule(module)
      else { return [] }
      return [(String(name), line)]
    }
    return (own ?? []) + places(in: words)
  }

  /// The names of Swift files that a number follows after a few characters, as in "Server.swift:31" and in
  /// "file: "App/Server.swift", line: 31".
  private static func places(in words: Substring) -> [(file: String, line: Int)] {
    words.ranges(of: ".swift").compactMap { range in
      let before = words[..<range.lowerBound]
      let start = before.lastIndex { !($0.isLetter || $0.isNumber || "_+-".contains($0)) }
      let name = before[(start.map(before.index(after:)) ?? before.startIndex)...]
      let rest = words[range.upperBound...].prefix(24)
      let gap = rest.prefix { !$0.isNumber && !$0.isNewline }
      let digits = rest.dropFirst(gap.count).prefix { $0.isNumber }
      guard !name.isEmpty, gap.count <= 12, let line = Int(digits) else { return nil }
      return ("\(name).swift", line)
    }
  }
}
