internal import Foundation
@unsafe @preconcurrency internal import Glibc

/// A socket that clients connect to.
final class ListeningSocket: Sendable {
  private let descriptor: Int32
  let address: String
  let port: Int
  /// True if only programs of this machine reach it.
  let isLoopback: Bool

  /// - Parameters:
  ///   - address: a number, of IPv4 or IPv6; names are not looked up.
  ///   - port: 0 for any that is free.
  init(address: String, port: Int) throws(ToolError) {
    var hints = unsafe addrinfo()
    unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>? = nil
    guard unsafe getaddrinfo(address, "\(port)", &hints, &list) == 0, let info = unsafe list else {
      throw ToolError("'\(address.escapedForMessage)' is no address in numbers")
    }
    defer { unsafe freeaddrinfo(list) }
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = unsafe socket(info.pointee.ai_family, type, 0)
    var on: Int32 = 1
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    guard descriptor >= 0,
      unsafe bind(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0,
      listen(descriptor, 64) == 0
    else {
      let failure = errno
      if descriptor >= 0 { close(descriptor) }
      throw ToolError(
        "cannot listen on \(address) port \(port): \(unsafe String(cString: strerror(failure)))")
    }
    var bound = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    unsafe withUnsafeMutablePointer(to: &bound) { pointer in
      _ = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(descriptor, $0, &size)
      }
    }
    // The port lies at the same place of both families' addresses.
    self.port = unsafe withUnsafeBytes(of: &bound) { bytes in
      unsafe Int(bytes[2]) << 8 | Int(bytes[3])
    }
    self.descriptor = descriptor
    self.address = address
    isLoopback = address.hasPrefix("127.") || address == "::1"
  }

  deinit { close(descriptor) }

  var url: String { "http://\(address.contains(":") ? "[\(address)]" : address):\(port)/" }

  /// The next client; nil once the socket was shut down.
  func accept() -> Int32? {
    while true {
      let client = Glibc.accept(descriptor, nil, nil)
      if client >= 0 {
        // This process starts no other.
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        return client
      }
      switch errno {
      // The client's fault, or one that passes.
      case EINTR, ECONNABORTED, EPROTO: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: usleep(100_000)
      default: return nil
      }
    }
  }

  /// Makes `accept` return nil.
  func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
