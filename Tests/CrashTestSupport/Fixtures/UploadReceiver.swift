internal import Foundation
@unsafe @preconcurrency internal import Glibc
internal import Synchronization

/// A server on loopback that keeps the forms that it receives, one connection after the other.
///
/// It is for tests of commands that upload. Tests of the uploads themselves use `PythonServer`, which shares no
/// code with this package.
package final class UploadReceiver {
  package struct Form: Sendable {
    package var fields: [String: String] = [:]
    /// The contents of the files, by the names of their form parts.
    package var files: [String: [UInt8]] = [:]
  }

  private final class Received: Sendable {
    let forms = Mutex<[Form]>([])
  }

  private let received = Received()
  private let listener: Int32
  private let port: UInt16

  /// - Parameter secret: the secret to expect in `Authorization: Bearer SECRET`; other requests are answered with
  ///   401.
  package init(secret: String? = nil) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    port = try Self.listen(on: listener)
    let listener = listener
    Thread.detachNewThread { [received] in
      while true {
        let client = accept(listener, nil, nil)
        // accept fails once `deinit` has shut the listener down.
        guard client >= 0 else { break }
        Self.send(Self.answer(to: client, secret, received), to: client)
        close(client)
      }
      close(listener)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Makes a socket listen on a free port of loopback, and returns the port.
  static func listen(on listener: Int32) throws -> UInt16 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(listener, address, size) == 0 && Glibc.listen(listener, 16) == 0
          && getsockname(listener, address, &size) == 0
      }
    }
    guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return UInt16(bigEndian: address.sin_port)
  }

  package var url: String { "http://127.0.0.1:\(port)/" }

  /// The forms that arrived complete, in order.
  package var forms: [Form] { received.forms.withLock { $0 } }

  private static func answer(
    to client: Int32, _ secret: String?, _ received: Received
  ) -> String {
    func response(_ status: String, _ body: String) -> String {
      "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
    }
    var bytes = Data()
    var head: Range<Data.Index>?
    while head == nil, let piece = receive(from: client) {
      bytes += piece
      head = bytes.range(of: Data("\r\n\r\n".utf8))
    }
    guard let head else { return response("400 Bad Request", "no head") }
    let headers = String(decoding: bytes[..<(head.lowerBound + 2)], as: UTF8.self)
    guard let length = headers.firstMatch(of: /\r\nContent-Length: (\d+)/).flatMap({ Int($0.1) }),
      let boundary = headers.firstMatch(of: /boundary=(\S+)/)?.1
    else { return response("400 Bad Request", "no form") }
    if headers.contains("\r\nExpect: ") {
      send("HTTP/1.1 100 Continue\r\n\r\n", to: client)
    }
    bytes.removeSubrange(..<head.upperBound)
    while bytes.count < length, let piece = receive(from: client) {
      bytes += piece
    }
    if let secret, !headers.contains("\r\nAuthorization: Bearer \(secret)\r\n") {
      return response("401 Unauthorized", "the secret is wrong")
    }
    guard bytes.count == length, let form = form(in: bytes, "--" + boundary) else {
      return response("400 Bad Request", "no form")
    }
    received.forms.withLock { $0.append(form) }
    return response("200 OK", form.fields["report_id"] ?? "")
  }

  /// Returns the received bytes; nil at the end of the connection.
  private static func receive(from client: Int32) -> [UInt8]? {
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    let count = unsafe recv(client, &piece, piece.count, 0)
    return count > 0 ? Array(piece.prefix(count)) : nil
  }

  /// Sends an answer, which always fits into the socket's buffer.
  private static func send(_ text: String, to client: Int32) {
    _ = unsafe Glibc.send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL))
  }

  /// Parses a form in the format of the uploader.
  ///
  /// Source: RFC 7578.
  private static func form(in body: Data, _ delimiter: String) -> Form? {
    var form = Form()
    // The uploader's body starts with a delimiter; the other delimiters follow a line break.
    var rest = Data("\r\n".utf8) + body
    let delimiter = Data("\r\n\(delimiter)".utf8)
    guard let start = rest.range(of: delimiter) else { return nil }
    rest.removeSubrange(..<start.upperBound)
    while let end = rest.range(of: delimiter) {
      let part = rest[..<end.lowerBound]
      guard let head = part.range(of: Data("\r\n\r\n".utf8)) else { return nil }
      let header = String(decoding: part[..<head.lowerBound], as: UTF8.self)
      guard let name = header.firstMatch(of: /; name="([^"]*)"/)?.1 else { return nil }
      let content = [UInt8](part[head.upperBound...])
      if header.contains("; filename=") {
        form.files[String(name)] = content
      } else {
        form.fields[String(name)] = String(decoding: content, as: UTF8.self)
      }
      rest.removeSubrange(..<end.upperBound)
    }
    return rest == Data("--\r\n".utf8) ? form : nil
  }
}
