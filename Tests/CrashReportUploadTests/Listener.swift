import CrashTestSupport
import Dispatch
@unsafe @preconcurrency import Glibc

/// Accepts one connection on loopback, and closes it after its first message.
final class Listener: Sendable {
  private let listener: Int32
  let port: UInt16

  init() throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(listener, address, size) == 0 && listen(listener, 1) == 0
          && getsockname(listener, address, &size) == 0
      }
    }
    guard isBound else { throw SystemCallError("bind", errno) }
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(listener) }

  func firstBytes() async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { [listener] in
        let client = accept(listener, nil, nil)
        var bytes = [UInt8](repeating: 0, count: 16384)
        let count = unsafe recv(client, &bytes, bytes.count, 0)
        close(client)
        guard count > 0 else {
          return continuation.resume(throwing: SystemCallError("recv", errno))
        }
        continuation.resume(returning: Array(bytes.prefix(count)))
      }
    }
  }
}
