internal import Stackwalk

/// A message of the Swift runtime about a failed check or a fatal error.
struct SwiftMessage: Equatable {
  let text: String
  /// The source file of the check, such as "App/File.swift"; nil if the message does not begin with a file, or
  /// if the file's name contains a space.
  let file: Substring?
  /// The line of the check; nil if `file` is nil, or if no number follows the file.
  let line: Int?
  /// The text without the file, the line and "Fatal error: ".
  let words: Substring
  /// True if "Fatal error: " precedes the words.
  let isFatal: Bool

  private static let prefix = "Fatal error: "

  init(_ text: String) {
    self.text = text
    var words = Substring(text)
    // A beginning such as "App/File.swift:12: " is recognized only if its only space is at its end. So the file is not
    // recognized if its name contains a space.
    if let end = words.firstIndex(of: " "), words[..<end].hasSuffix(":"),
      let mark = words[..<end].firstRange(of: ".swift:")
    {
      file = words[..<words.index(before: mark.upperBound)]
      line = Int(words[mark.upperBound..<end].dropLast())
      words = words[words.index(after: end)...]
    } else {
      file = nil
      line = nil
    }
    isFatal = words.hasPrefix(Self.prefix)
    self.words = isFatal ? words.dropFirst(Self.prefix.count) : words
  }

  /// Splits the runtime's text into messages; a message can have several lines.
  ///
  /// The Swift runtime keeps one text for the whole process, and each failing thread appends its message.
  ///
  /// Source: swift stdlib/public/runtime/Errors.cpp, `reportOnCrash`.
  static func messages(in text: String) -> [SwiftMessage] {
    var messages: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if messages.isEmpty || SwiftMessage(String(line)).isFatal {
        messages.append(String(line))
      } else {
        messages[messages.count - 1] += "\n" + line
      }
    }
    return messages.map { SwiftMessage($0) }
  }

  /// The numbers in the words that begin with "0x", such as the address of an object.
  var addresses: [UInt64] {
    words.split { !$0.isLetter && !$0.isNumber }.filter { $0.hasPrefix("0x") }
      .compactMap { UInt64($0.dropFirst(2), radix: 16) }
  }

  /// True if one of `frames` is at the message's line, in a file with the message's file name.
  func isWritten(in frames: some Sequence<StackFrame>) -> Bool {
    guard let name = file?.split(separator: "/").last else { return false }
    return frames.contains { frame in
      guard let place = frame.sourceLocation else { return false }
      return place.line == line && place.file.split(separator: "/").last == name
    }
  }
}
