/// The body of a request, piece by piece, of a known length or chunked.
///
/// Source: RFC 9112, 6.3 and 7.1.
struct HTTPBody {
  private let connection: HTTPConnection
  private let limit: Int64
  private var taken: Int64 = 0
  /// Of the body, or of the chunk.
  private var left: Int64
  private let isChunked: Bool
  private var isAtEnd = false

  /// - Parameter limit: the most bytes that are taken.
  init(_ head: HTTPRequestHead, _ connection: HTTPConnection, limit: Int64) throws(HTTPFailure) {
    self.connection = connection
    self.limit = limit
    switch head.bodyLength {
    case .bytes(let count):
      guard count <= limit else { throw Self.tooLarge(limit) }
      (left, isChunked) = (count, false)
    case .chunked: (left, isChunked) = (0, true)
    }
  }

  /// The next piece; nil at the end.
  mutating func next() throws(HTTPFailure) -> [UInt8]? {
    if isAtEnd { return nil }
    if left == 0 {
      guard isChunked, try startChunk() else {
        isAtEnd = true
        return nil
      }
    }
    let piece = try connection.some(limit: left)
    guard !piece.isEmpty else { throw Self.broken }
    left &-= Int64(piece.count)
    taken &+= Int64(piece.count)
    if isChunked, left == 0 {
      let rest = try connection.bytes(
        until: [0x0D, 0x0A], limit: 0, tooLong: HTTPFailure(400, "a chunk longer than it says"))
      guard rest != nil else { throw Self.broken }
    }
    return piece
  }

  /// Reads a chunk's size; false for the last one, whose trailers are read and dropped.
  private mutating func startChunk() throws(HTTPFailure) -> Bool {
    let long = HTTPFailure(400, "a chunk's first line or a trailer is too long")
    guard let line = try connection.bytes(until: [0x0D, 0x0A], limit: 256, tooLong: long) else {
      throw Self.broken
    }
    let digits = String(
      decoding: line.prefix { $0 != 0x3B && $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
    guard (1...15).contains(digits.utf8.count), digits.allSatisfy(\.isHexDigit),
      let size = Int64(digits, radix: 16)
    else { throw HTTPFailure(400, "a chunk without a size") }
    guard size <= limit &- taken else { throw Self.tooLarge(limit) }
    left = size
    if size > 0 { return true }
    for _ in 0..<64 {
      guard let trailer = try connection.bytes(until: [0x0D, 0x0A], limit: 1024, tooLong: long)
      else { throw Self.broken }
      if trailer.isEmpty { return false }
    }
    throw long
  }

  private static let broken = HTTPFailure(400, "the connection ended in the middle of the body")

  private static func tooLarge(_ limit: Int64) -> HTTPFailure {
    HTTPFailure(413, "larger than \(limit >> 20) MiB")
  }
}
