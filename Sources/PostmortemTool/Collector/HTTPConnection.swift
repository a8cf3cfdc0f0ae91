internal import Foundation
@unsafe @preconcurrency internal import Glibc

/// One client: bytes in and out, each within a time.
final class HTTPConnection {
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  /// Clients that send less a second on average are dropped.
  private static let slowest: Int64 = 4 << 10
  /// Seconds without a byte, and those that a request has beyond its bytes.
  private let patience: Int
  private let start = ContinuousClock.now
  private var received: Int64 = 0

  init(descriptor: Int32, patience: Int) {
    self.descriptor = descriptor
    self.patience = patience
    var time = timeval(tv_sec: patience, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
  }

  deinit { close(descriptor) }

  /// The next bytes, at most 64 KiB; empty where the client sends no more.
  private func receive() throws(HTTPFailure) -> [UInt8] {
    let allowed = Duration.seconds(Int64(patience) &+ received / Self.slowest)
    guard ContinuousClock.now - start < allowed else { throw HTTPFailure(408, "too slow") }
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    var count = -1
    repeat {
      count = unsafe recv(descriptor, &piece, piece.count, 0)
    } while count < 0 && errno == EINTR
    if count < 0, errno == EAGAIN { throw HTTPFailure(408, "nothing came for \(patience) seconds") }
    guard count > 0 else { return [] }
    received &+= Int64(count)
    piece.removeSubrange(count...)
    return piece
  }

  /// Bytes up to an end mark, which is taken too.
  func bytes(until mark: [UInt8], limit: Int, tooLong: HTTPFailure) throws(HTTPFailure) -> [UInt8]?
  {
    var searched = 0
    while true {
      if let place = ByteSearch.first(of: mark, in: buffer, from: searched) {
        guard place <= limit else { throw tooLong }
        let found = Array(buffer[..<place])
        buffer.removeSubrange(..<(place + mark.count))
        return found
      }
      guard buffer.count <= limit else { throw tooLong }
      searched = max(0, buffer.count - mark.count + 1)
      let piece = try receive()
      guard !piece.isEmpty else { return nil }
      buffer += piece
    }
  }

  /// Some of the next bytes, `limit` at most; empty at the end.
  func some(limit: Int64) throws(HTTPFailure) -> [UInt8] {
    if buffer.isEmpty { buffer = try receive() }
    guard Int64(buffer.count) > limit else {
      defer { buffer = [] }
      return buffer
    }
    let piece = Array(buffer[..<Int(limit)])
    buffer.removeSubrange(..<Int(limit))
    return piece
  }

  /// Sends all, or gives up where the client does not read.
  func send(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }

  /// Ends the answer, and takes what the client still sends for a moment: closing on unread bytes
  /// would reset the connection, and could take the answer away from it.
  func finish() {
    shutdown(descriptor, Int32(SHUT_WR))
    var time = timeval(tv_sec: 1, tv_usec: 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    let end = ContinuousClock.now + .seconds(2)
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while ContinuousClock.now < end, unsafe recv(descriptor, &piece, piece.count, 0) > 0 {}
  }
}
