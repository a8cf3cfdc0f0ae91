/// Identifies the process that wrote a line of a log.
///
/// An origin consists of the name of the log, the process ID, and the text before this ID without dates and times.
struct LogOrigin: Equatable {
  let processID: Int32
  private let source: String
  /// The words of the line before the process ID, except dates and times.
  private let words: [String]

  init(processID: Int32, source: String, front: ArraySlice<UInt8>) {
    (self.processID, self.source) = (processID, source)
    words = String(decoding: front.suffix(4096), as: UTF8.self).split(
      whereSeparator: \.isWhitespace
    )
    .map(String.init).filter { !Self.isTime($0) }
  }

  /// True for origins with the same log and process ID if the words before this ID differ at most in numbers.
  func isSimilar(to other: LogOrigin) -> Bool {
    func masked(_ words: [String]) -> [[Character]] {
      words.map { word in
        var result: [Character] = []
        for character in word {
          let isDigit = character.isASCII && character.isNumber
          if isDigit, result.last == "#" { continue }
          result.append(isDigit ? "#" : character)
        }
        return result
      }
    }
    return processID == other.processID && source == other.source
      && masked(words) == masked(other.words)
  }

  private static let names: Set<String> = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon",
    "tue",
    "wed", "thu", "fri", "sat", "sun", "am", "pm", "utc", "gmt",
  ]

  /// True for a word that looks like a date, a time of day, a number of seconds, a time zone, or the name of a month or
  /// a day, such as `2026-11-26`, `04:20:00.123Z`, `2026-11-26T04:20:00+01:00`, `[12345.678901]`, `Nov`, `26`.
  private static func isTime(_ word: String) -> Bool {
    let plain = word.lowercased().filter { !"[](),".contains($0) }
    if names.contains(plain) { return true }
    // Whole numbers count as times too, because they can be days or seconds since 1970. A number followed by a colon
    // does not count as a time, because it may identify a process, like the task number that `srun --label` puts before
    // each line.
    guard plain.first?.isNumber == true, plain.last != ":" else { return false }
    return plain.allSatisfy { $0.isASCII && $0.isNumber || ":-/.+tz".contains($0) }
  }
}
