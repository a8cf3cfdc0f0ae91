/// The first line and the headers of a request.
///
/// Total on any bytes, and strict: what two programs could read in two ways is refused.
///
/// Source: RFC 9112, 2 to 6.
struct HTTPRequestHead: Sendable, Equatable {
  /// How long the body is.
  enum BodyLength: Sendable, Equatable {
    case bytes(Int64)
    case chunked
  }

  let method: String
  /// As it came; nothing is ever looked up by it.
  let target: String
  let bodyLength: BodyLength
  private let headers: [String: String]

  static let maximumSize = 16 << 10

  /// Reads a head, without the empty line at its end.
  init(_ bytes: some Collection<UInt8>) throws(HTTPFailure) {
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x0D || $0 == 0x0A || $0 == 0x09 })
    else { throw HTTPFailure(400, "a control character in the head") }
    var lines = String(decoding: bytes, as: UTF8.self).unicodeScalars
      .split(separator: "\r\n".unicodeScalars).map { String($0) }[...]
    guard !lines.contains(where: { $0.unicodeScalars.contains { $0 == "\r" || $0 == "\n" } }) else {
      throw HTTPFailure(400, "a line that does not end in CR LF")
    }
    let words = (lines.popFirst() ?? "").split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, !words[0].isEmpty, !words[1].isEmpty, words[2].hasPrefix("HTTP/") else {
      throw HTTPFailure(400, "not a request line")
    }
    guard words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else {
      throw HTTPFailure(505, "HTTP/1.1 only")
    }
    method = String(words[0])
    target = String(words[1])
    var headers: [String: String] = [:]
    for line in lines {
      guard let colon = line.firstIndex(of: ":"), colon != line.startIndex,
        line[..<colon].utf8.allSatisfy(Self.isToken)
      else { throw HTTPFailure(400, "not a header") }
      let name = line[..<colon].lowercased()
      let value = Self.trimmed(line[line.index(after: colon)...])
      if let other = headers[name] {
        guard !["content-length", "transfer-encoding", "content-type", "host"].contains(name)
        else { throw HTTPFailure(400, "the header \(name) twice") }
        headers[name] = "\(other), \(value)"
      } else {
        headers[name] = value
      }
    }
    self.headers = headers
    bodyLength = try Self.bodyLength(headers)
  }

  subscript(name: String) -> String? { headers[name.lowercased()] }

  private static func bodyLength(
    _ headers: [String: String]
  ) throws(HTTPFailure) -> BodyLength {
    if let encoding = headers["transfer-encoding"] {
      guard encoding.lowercased() == "chunked", headers["content-length"] == nil else {
        throw HTTPFailure(400, "a transfer encoding other than chunked, or a length beside it")
      }
      return .chunked
    }
    guard let length = headers["content-length"] else { return .bytes(0) }
    guard !length.isEmpty, length.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int64(length)
    else { throw HTTPFailure(400, "a content length that is no number") }
    return .bytes(count)
  }

  /// A parameter of a header's value, `boundary` in `multipart/form-data; boundary="x"` for one.
  static func parameter(_ name: String, of value: String) -> String? {
    for part in quotedSplit(value).dropFirst() {
      guard let equals = part.firstIndex(of: "="),
        trimmed(part[..<equals]).lowercased() == name
      else { continue }
      let text = trimmed(part[part.index(after: equals)...])
      guard text.hasPrefix("\""), text.hasSuffix("\""), text.count >= 2 else { return text }
      return String(text.dropFirst().dropLast())
    }
    return nil
  }

  /// A header's value in front of its parameters, in lower case.
  static func value(_ value: String) -> String {
    trimmed(quotedSplit(value).first ?? "").lowercased()
  }

  /// Splits at semicolons that are not in quotes; a backslash is no escape, as browsers have it.
  private static func quotedSplit(_ text: String) -> [Substring] {
    var isQuoted = false
    return text.split(omittingEmptySubsequences: false) { character in
      if character == "\"" { isQuoted.toggle() }
      return character == ";" && !isQuoted
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    let front = text.drop { $0 == " " || $0 == "\t" }
    return String(front.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }

  private static func isToken(_ byte: UInt8) -> Bool {
    (0x21...0x7E).contains(byte) && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
  }
}

/// Why a request is refused: the status, and a line for the client and the log.
struct HTTPFailure: Error, Equatable {
  let status: Int
  let reason: String
  init(_ status: Int, _ reason: String) {
    self.status = status
    self.reason = reason
  }
}
