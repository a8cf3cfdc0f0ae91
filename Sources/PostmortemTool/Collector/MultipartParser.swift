/// Takes a body of `multipart/form-data` apart as it comes.
///
/// Total on any bytes; of a part's content it holds no more than the boundary is long.
///
/// Source: RFC 2046, 5.1; RFC 7578.
struct MultipartParser {
  /// What was found, in order.
  enum Event: Equatable {
    case began(Part)
    case content([UInt8])
    case ended
  }

  /// What a part's headers say.
  struct Part: Equatable {
    let name: String
    /// Nil for a field.
    let fileName: String?
  }

  private enum State {
    case preamble
    /// Behind a delimiter, before what says whether it was the last.
    case delimiter
    case headers
    case content
    case epilogue
  }

  private static let maximumHeaders = 8 << 10
  private static let maximumParts = 1000

  private let delimiter: [UInt8]
  private var state = State.preamble
  private var buffer: [UInt8]
  private var parts = 0

  /// Nil for a boundary that cannot be one.
  init?(boundary: String) {
    guard (1...200).contains(boundary.utf8.count),
      boundary.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), !boundary.hasSuffix(" ")
    else { return nil }
    delimiter = Array("\r\n--\(boundary)".utf8)
    // The first delimiter needs no line before it.
    buffer = [0x0D, 0x0A]
  }

  /// True when the last delimiter has come.
  var isComplete: Bool { state == .epilogue }

  /// Takes more bytes and gives what they complete.
  mutating func take(
    _ bytes: [UInt8], _ found: (Event) throws(HTTPFailure) -> Void
  ) throws(HTTPFailure) {
    guard state != .epilogue else { return }
    buffer += bytes
    while try step(found) {}
  }

  /// Goes on by one piece; false where more bytes are needed.
  private mutating func step(_ found: (Event) throws(HTTPFailure) -> Void) throws(HTTPFailure)
    -> Bool
  {
    switch state {
    case .epilogue: return false
    case .preamble, .content:
      let isContent = state == .content
      if let place = ByteSearch.first(of: delimiter, in: buffer, from: 0) {
        if isContent {
          if place > 0 { try found(.content(Array(buffer[..<place]))) }
          try found(.ended)
        }
        buffer.removeSubrange(..<(place + delimiter.count))
        state = .delimiter
        return true
      }
      // All but what could be the delimiter's beginning.
      let sure = buffer.count - (delimiter.count - 1)
      guard sure > 0 else { return false }
      if isContent { try found(.content(Array(buffer[..<sure]))) }
      buffer.removeSubrange(..<sure)
      return false
    case .delimiter: return try delimiterEnd()
    case .headers:
      guard let end = ByteSearch.first(of: Array("\r\n\r\n".utf8), in: buffer, from: 0) else {
        guard buffer.count <= Self.maximumHeaders else {
          throw HTTPFailure(400, "a part's headers are too long")
        }
        return false
      }
      guard end <= Self.maximumHeaders else {
        throw HTTPFailure(400, "a part's headers are too long")
      }
      try found(.began(try part(Array(buffer[..<end]))))
      buffer.removeSubrange(..<(end + 4))
      state = .content
      return true
    }
  }

  private mutating func delimiterEnd() throws(HTTPFailure) -> Bool {
    guard buffer.count >= 2 else { return false }
    if buffer.starts(with: [0x2D, 0x2D]) {
      state = .epilogue
      buffer = []
      return false
    }
    let blanks = buffer.prefix { $0 == 0x20 || $0 == 0x09 }.count
    guard buffer.count >= blanks + 2 else {
      guard blanks <= 64 else { throw HTTPFailure(400, "not a boundary's line") }
      return false
    }
    guard blanks <= 64, buffer[blanks] == 0x0D, buffer[blanks + 1] == 0x0A else {
      throw HTTPFailure(400, "not a boundary's line")
    }
    parts += 1
    guard parts <= Self.maximumParts else { throw HTTPFailure(413, "too many parts") }
    // The line's end stays: a part without headers has an empty line at once.
    buffer.removeSubrange(..<blanks)
    state = .headers
    return true
  }

  private func part(_ bytes: [UInt8]) throws(HTTPFailure) -> Part {
    let text = String(decoding: bytes, as: UTF8.self)
    for line in text.unicodeScalars.split(separator: "\r\n".unicodeScalars).map({ String($0) }) {
      guard let colon = line.firstIndex(of: ":"),
        line[..<colon].lowercased() == "content-disposition"
      else { continue }
      let value = String(line[line.index(after: colon)...])
      guard HTTPRequestHead.value(value) == "form-data",
        let name = HTTPRequestHead.parameter("name", of: value)
      else { break }
      return Part(name: name, fileName: HTTPRequestHead.parameter("filename", of: value))
    }
    throw HTTPFailure(400, "a part without a name")
  }
}
