internal import Foundation

/// Undoes the changes that container runtimes and log collectors make to a program's lines.
///
/// Known forms are JSON of Docker, Loki and others, entries of a journal, quoted texts, and the cut lines of
/// Kubernetes' runtimes (CRI).
///
/// Source: Docker's json-file driver (`log`, `stream`, `time`); Grafana Loki, logcli `--output=jsonl`
/// (`labels`, `line`, `timestamp`); Kubernetes, the CRI logging format (`TIME STREAM P|F TEXT`);
/// journalctl(1), `--output=json` and `--output=export` (`MESSAGE`).
struct LogLines {
  /// A line as the program wrote it.
  struct Line: Equatable {
    let bytes: [UInt8]
    /// Words in the log line that distinguish the lines of several programs; empty if there are none.
    let source: String
  }

  /// The number of lines that have a summary's mark, but whose JSON or quoted text cannot be read, for example because
  /// the line was cut.
  private(set) var unreadable = 0

  /// The entry that is being read, if the log is an export of systemd's journal; nil outside of an entry.
  private var entry: JournalEntry?
  /// For each source, the beginning of a line that the log's writer cut into parts and whose last part has not been
  /// read yet.
  private var beginnings: [String: [UInt8]] = [:]
  private static let maximumBeginnings = 1024
  private static let maximumLength = 1 << 16
  private static let mark = Array("postmortem[".utf8)

  /// Reads a line of the log, without its line feed, and returns the program's lines that it contains or completes;
  /// there may be none.
  mutating func take(_ bytes: [UInt8]) -> [Line] {
    if let first = JournalEntry(first: bytes) {
      defer { entry = first }
      return finishEntry()
    }
    guard entry != nil else { return lines(of: bytes, source: "", depth: 0) }
    if bytes.isEmpty { return finishEntry() }
    entry?.add(bytes, identifying: Self.identifying)
    return []
  }

  /// Returns the lines that are still incomplete at the end of the log.
  mutating func finish() -> [Line] {
    defer { beginnings = [:] }
    return finishEntry()
      + beginnings.sorted { $0.key < $1.key }.map { Line(bytes: $0.value, source: $0.key) }
  }

  private mutating func finishEntry() -> [Line] {
    guard let ended = entry else { return [] }
    entry = nil
    return ended.message.map { lines(of: $0, source: ended.source, depth: 1) } ?? []
  }

  /// - Parameter depth: the number of formats that enclose the bytes. Formats can be nested: for example, a collector's
  ///   JSON may contain a runtime's JSON.
  private mutating func lines(of bytes: [UInt8], source: String, depth: Int) -> [Line] {
    guard depth < 4 else { return [] }
    if let part = CRIPart(bytes) {
      let origin = source + String(decoding: part.front, as: UTF8.self) + part.stream
      guard let whole = join(part.text, isLast: part.isLast, from: origin) else { return [] }
      return lines(of: part.front + whole, source: source, depth: depth + 1)
    }
    guard let start = Self.startOfJSON(in: bytes) else {
      return [unquoted(bytes)].compactMap { $0.map { Line(bytes: $0, source: source) } }
    }
    let isCut = bytes.count >= Self.maximumLength
    guard !isCut, let (start, object) = Self.json(in: bytes, at: start) else {
      if Self.contains(Self.mark, in: bytes[...]) { unreadable += 1 }
      return []
    }
    let form = Form(
      source: source + Self.identity(of: object), front: Array(bytes[..<start]), depth: depth + 1)
    return lines(in: object, named: "", form)
  }

  /// What `lines(in:named:_:)` needs to know about the log line that contains the JSON.
  private struct Form {
    let source: String
    let front: [UInt8]
    let depth: Int
  }

  /// The lines that the program wrote, from all texts that a JSON value contains.
  ///
  /// - Parameter name: the name of the member that has this value; empty for a whole JSON text.
  private mutating func lines(in object: Any, named name: String, _ form: Form) -> [Line] {
    var found: [Line] = []
    switch object {
    case let text as String:
      let pieces = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
      for (index, piece) in pieces.enumerated() {
        // Docker cuts lines of more than 16 KiB, and then only the last part ends in a line feed. Other programs write
        // texts without a line feed at the end, so there each piece is a whole line.
        let isLast = index < pieces.count - 1 || name != "log"
        let origin = form.source + name
        guard let line = join(Array(piece), isLast: isLast, from: origin), !line.isEmpty else {
          continue
        }
        found += lines(of: form.front + line, source: form.source, depth: form.depth)
      }
    case let array as [Any]:
      if let bytes = Self.bytes(of: array) {
        return lines(of: form.front + bytes, source: form.source, depth: form.depth)
      }
      for element in array {
        let source = form.source + Self.identity(of: element)
        let own = Form(source: source, front: form.front, depth: form.depth)
        found += lines(in: element, named: name, own)
      }
    case let map as [String: Any]:
      for key in map.keys.sorted() where !Self.identifying.contains(key.lowercased()) {
        if let value = map[key] { found += lines(in: value, named: key, form) }
      }
    default: break
    }
    return found
  }

  /// Joins the parts of a line; returns nil until the last part has been read or the line is too long.
  private mutating func join(_ text: [UInt8], isLast: Bool, from origin: String) -> [UInt8]? {
    let whole = (beginnings[origin] ?? []) + text
    guard isLast || whole.count > Self.maximumLength else {
      if beginnings[origin] == nil, beginnings.count >= Self.maximumBeginnings { beginnings = [:] }
      beginnings[origin] = whole
      return nil
    }
    beginnings[origin] = nil
    return whole
  }

  // MARK: - JSON

  /// The line without the quotation marks around a text that begins with `postmortem[`; nil if the second quotation
  /// mark is missing, or if the quoted text is not a JSON string.
  ///
  /// Log formats put such quotation marks around a member of multi-line JSON, and around a value of logfmt.
  private mutating func unquoted(_ bytes: [UInt8]) -> [UInt8]? {
    let quote = UInt8(ascii: "\"")
    let mark = bytes.indices.first {
      bytes[$0] == Self.mark[0] && bytes[$0...].starts(with: Self.mark)
    }
    guard let mark, mark > 0, bytes[mark - 1] == quote else { return bytes }
    var end = mark
    while end < bytes.count, bytes[end] != quote {
      end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard end < bytes.count,
      let text = try? JSONSerialization.jsonObject(
        with: Data(bytes[(mark - 1)...end]), options: .fragmentsAllowed) as? String
    else {
      unreadable += 1
      return nil
    }
    // The text after the quoted text is kept, because it may show which program wrote the line.
    return Array(bytes[..<(mark - 1)] + bytes[(end + 1)...]) + [0x20]
      + text.utf8.prefix { $0 != 0x0A }
  }

  /// The names of fields that distinguish the sources of lines, such as containers, hosts and log files; the values of
  /// other fields may change from line to line.
  private static let identifying: Set<String> = [
    "labels", "kubernetes", "docker", "stream", "container", "container_id", "container_name",
    "containerid", "containername", "pod", "pod_name", "podname", "namespace", "host", "hostname",
    "_hostname", "_machine_id", "_boot_id", "_systemd_unit", "_pid", "syslog_identifier", "service",
    "service_name", "instance", "job", "app",
    "filename",
    "file", "source", "tag", "attrs", "resource",
  ]

  /// The values of an object's identifying fields, as one text.
  private static func identity(of object: Any) -> String {
    guard let map = object as? [String: Any] else { return "" }
    return map.keys.sorted().filter { identifying.contains($0.lowercased()) }.map { key in
      "\(key)=\(text(of: map[key]))"
    }.joined(separator: " ")
  }

  private static func text(of value: Any?) -> String {
    guard let map = value as? [String: Any] else { return value.map { "\($0)" } ?? "" }
    return map.keys.sorted().map { "\($0)=\(text(of: map[$0]))" }.joined(separator: " ")
  }

  /// The bytes of an array of at least five integers from 0 to 255; nil for any other array.
  ///
  /// journalctl prints a text that is not UTF-8 as such an array.
  private static func bytes(of array: [Any]) -> [UInt8]? {
    guard array.count > 4 else { return nil }
    var bytes: [UInt8] = []
    for element in array {
      guard let number = element as? Int, let byte = UInt8(exactly: number) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  /// The position of the first brace that seems to begin a JSON object; nil if there is none, or if a summary's mark
  /// comes before it.
  private static func startOfJSON(in bytes: [UInt8]) -> Int? {
    var index = 0
    while index < bytes.count {
      if bytes[index] == mark[0], bytes[index...].starts(with: mark) { return nil }
      if bytes[index] == UInt8(ascii: "{"),
        bytes[(index + 1)...].first(where: { $0 != UInt8(ascii: " ") }) == UInt8(ascii: "\""),
        bytes.last(where: { $0 > UInt8(ascii: " ") }) == UInt8(ascii: "}")
          || bytes.count >= maximumLength || contains(Array(#"":"#.utf8), in: bytes[index...])
      {
        return index
      }
      index += 1
    }
    return nil
  }

  /// The JSON object that begins at a brace, or the array whose first element is this object, and the position where
  /// the object or the array begins.
  private static func json(in bytes: [UInt8], at brace: Int) -> (start: Int, object: Any)? {
    let bracket = bytes[..<brace].lastIndex { $0 != UInt8(ascii: " ") }
    let array = bracket.flatMap { bytes[$0] == UInt8(ascii: "[") ? $0 : nil }
    for start in [array, brace].compactMap(\.self) {
      if let object = try? JSONSerialization.jsonObject(with: Data(bytes[start...])) {
        return (start, object)
      }
    }
    return nil
  }

  private static func contains(_ part: [UInt8], in bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    while let start = rest.firstIndex(of: part[0]) {
      rest = rest[start...]
      if rest.starts(with: part) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}

/// An entry of a journal in the export format, which has one text field per line; fields with binary data are not read.
///
/// Source: systemd, Journal Export Formats.
private struct JournalEntry {
  private(set) var message: [UInt8]?
  /// The entry's fields that show which program wrote the entry, as one text.
  private(set) var source = ""
  private static let maximumSourceLength = 4096

  /// Begins an entry at its first line, which starts with `__CURSOR=`; returns nil for any other line.
  init?(first line: [UInt8]) {
    guard line.starts(with: Array("__CURSOR=".utf8)) else { return nil }
  }

  mutating func add(_ line: [UInt8], identifying: Set<String>) {
    guard let sign = line.firstIndex(of: UInt8(ascii: "=")) else { return }
    let name = String(decoding: line[..<sign], as: UTF8.self)
    if name == "MESSAGE" {
      message = Array(line[(sign + 1)...])
    } else if identifying.contains(name.lowercased()), source.utf8.count < Self.maximumSourceLength
    {
      source += String(decoding: line, as: UTF8.self) + " "
    }
  }
}

/// A line of the CRI logging format, which may contain only a part of the program's line.
private struct CRIPart {
  /// The text before the time, such as a file name that `grep` has added; usually empty.
  let front: [UInt8]
  let stream: String
  let isLast: Bool
  let text: [UInt8]

  /// Parses a line; returns nil if the line is not in the CRI logging format.
  init?(_ line: [UInt8]) {
    // Only the beginning is searched for the time, because the program's own text may contain anything.
    var start = 0
    while start < min(line.count, 1024) {
      let end = line[start...].firstIndex(of: 0x20) ?? line.count
      if let time = Self.timeOffset(in: line[start..<end]), end + 10 <= line.count {
        let rest = line[(end + 1)...]
        for stream in ["stdout", "stderr"] where rest.starts(with: Array("\(stream) ".utf8)) {
          let tag = rest.dropFirst(7)
          guard let first = tag.first, first == UInt8(ascii: "P") || first == UInt8(ascii: "F"),
            let blank = tag.firstIndex(of: 0x20)
          else { continue }
          (front, self.stream) = (Array(line[..<(start + time)]), stream)
          isLast = first == UInt8(ascii: "F")
          text = Array(line[(blank + 1)...])
          return
        }
      }
      start = end + 1
    }
    return nil
  }

  /// The offset of a time such as `2026-11-26T04:20:00.123456789Z` in a word, which may begin with a file name; nil
  /// if the word contains no time.
  private static func timeOffset(in word: ArraySlice<UInt8>) -> Int? {
    guard word.count >= 20, word.count < 512 else { return nil }
    let text = String(decoding: word, as: UTF8.self)
    let time = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}/
    guard let match = text.firstMatch(of: time) else { return nil }
    return text.utf8.distance(from: text.startIndex, to: match.range.lowerBound)
  }
}
