internal import Foundation
internal import Glibc

/// A server on loopback that accepts one connection, reads the head of a request, and never answers.
package final class SilentServer {
  private let listener: Int32
  private var client: Int32 = -1
  private let port: UInt16

  package init() throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    port = try UploadReceiver.listen(on: listener)
  }

  deinit {
    close(client)
    close(listener)
  }

  package var url: String { "http://127.0.0.1:\(port)/" }

  /// Waits for a request, and returns its head.
  ///
  /// - Throws: if no request comes within `ChildProcess.patience` seconds.
  package func request() throws -> String {
    var patience = timeval(tv_sec: ChildProcess.patience, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    unsafe setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
    client = accept(listener, nil, nil)
    guard client >= 0 else { throw SystemCallError("accept", errno) }
    _ = fcntl(client, F_SETFD, FD_CLOEXEC)
    unsafe setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
    var head = ""
    while !head.contains("\r\n\r\n") {
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      let count = unsafe recv(client, &bytes, bytes.count, 0)
      guard count > 0 else { throw SystemCallError("recv", errno) }
      head += String(decoding: bytes.prefix(count), as: UTF8.self)
    }
    return head
  }
}
