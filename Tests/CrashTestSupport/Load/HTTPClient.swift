internal import Foundation

/// A connection to a server on this machine; it sends one request at a time, and is used on one thread.
public final class HTTPClient {
  /// A complete answer.
  public struct Answer: Sendable {
    public let status: Int
    public let body: String
    /// True if the server said that it will close this connection.
    public let isLast: Bool
  }

  /// The connection ended before an expected answer.
  public struct Lost: Error, CustomStringConvertible {
    public let description: String
  }

  private let descriptor: Int32
  private var received: [UInt8] = []

  /// Connects.
  ///
  /// - Throws: `SystemCallError` if no server listens on the port.
  public init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SystemCallError("socket", errno) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { [descriptor] in
        unsafe connect(descriptor, $0, size)
      }
    }
    guard result == 0 else {
      let number = errno
      close(descriptor)
      throw SystemCallError("connect", number)
    }
    // If a server never answers, this timeout fails the test.
    var patience = timeval(tv_sec: ChildProcess.patience, tv_usec: 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var on: Int32 = 1
    unsafe setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }

  /// Sends a request and waits for the answer.
  ///
  /// - Parameters:
  ///   - path: the path of the request, whose method is GET.
  ///   - id: sent as `X-Request-ID`.
  ///
  /// - Throws: `Lost` if the connection ends before the answer is complete.
  public func ask(_ path: String, id: String) throws -> Answer {
    let request = Array("GET \(path) HTTP/1.1\r\nHost: here\r\nX-Request-ID: \(id)\r\n\r\n".utf8)
    let sent = unsafe send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
    guard sent == request.count else { throw Lost(description: "\(id): not sent") }
    while true {
      if let (answer, length) = try Self.parse(received) {
        received.removeFirst(length)
        return answer
      }
      let count = unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 8192) { buffer in
        let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 { unsafe received += buffer[..<count] }
        return count
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw Lost(description: "\(id): ended after \(received.count) bytes of the answer")
      }
    }
  }

  /// The answer at the start of the bytes; nil until it is complete.
  ///
  /// Source: RFC 9112, sections 4 and 6.
  private static func parse(_ bytes: [UInt8]) throws -> (Answer, length: Int)? {
    var end = 0
    var matched = 0
    // The headers end with CR LF CR LF.
    while end < bytes.count, matched < 4 {
      let byte = bytes[end]
      matched = byte == (matched & 1 == 0 ? 13 : 10) ? matched + 1 : byte == 13 ? 1 : 0
      end += 1
    }
    guard matched == 4 else { return nil }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count > 1, let status = Int(words[1]),
      let length = lines.first(where: { $0.hasPrefix("Content-Length: ") })
        .flatMap({ Int($0.dropFirst(16)) })
    else { throw Lost(description: "no answer of HTTP: \(lines)") }
    guard bytes.count - end >= length else { return nil }
    return (
      Answer(
        status: status, body: String(decoding: bytes[end..<end + length], as: UTF8.self),
        isLast: lines.contains("Connection: close")), end + length
    )
  }
}
