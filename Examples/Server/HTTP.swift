/// The parts of a request's head that this server uses.
///
/// Source: RFC 9112.
struct Request {
  var method: String
  var path: String
  /// The value of the `X-Request-ID` header; nil if there is none.
  var id: String?
  var keepsAlive: Bool

  /// The result of parsing the received bytes.
  enum Parsed {
    /// More bytes are needed.
    case incomplete
    /// A request, and the size of its head and body.
    case request(Request, byteCount: Int)
    case invalid
  }

  private static let maximumSize = 64 << 10

  static func parse(_ bytes: some RandomAccessCollection<UInt8>) -> Parsed {
    guard let headEnd = endOfHead(bytes) else {
      return bytes.count < maximumSize ? .incomplete : .invalid
    }
    let lines = String(decoding: bytes.prefix(headEnd), as: UTF8.self).split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count == 3, words[2].hasPrefix("HTTP/1."), words[1].hasPrefix("/") else {
      return .invalid
    }
    var request = Request(
      method: String(words[0]), path: String(words[1]), id: nil, keepsAlive: words[2] != "HTTP/1.0")
    var bodySize = 0
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return .invalid }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      switch line[..<colon].lowercased() {
      case "connection": request.keepsAlive = value.lowercased() != "close"
      case "x-request-id": request.id = String(value)
      case "content-length":
        guard let size = Int(value), (0...maximumSize).contains(size) else { return .invalid }
        bodySize = size
      default: break
      }
    }
    let size = headEnd + 4 + bodySize
    return bytes.count < size ? .incomplete : .request(request, byteCount: size)
  }

  /// The offset of the empty line that ends the head.
  private static func endOfHead(_ bytes: some RandomAccessCollection<UInt8>) -> Int? {
    var seen = 0
    for (offset, byte) in bytes.enumerated() {
      // CR LF CR LF.
      seen = byte == (seen & 1 == 0 ? 13 : 10) ? seen + 1 : byte == 13 ? 1 : 0
      if seen == 4 { return offset - 3 }
    }
    return nil
  }
}

/// A response with a text body.
struct Response {
  var status = "200 OK"
  var text: String

  func bytes(keepsAlive: Bool) -> [UInt8] {
    Array(
      """
      HTTP/1.1 \(status)\r
      Content-Type: text/plain\r
      Content-Length: \(text.utf8.count)\r
      Connection: \(keepsAlive ? "keep-alive" : "close")\r
      \r
      \(text)
      """.utf8)
  }
}
