import Glibc

/// Forks a child process.
///
/// Swift marks fork(2) as unavailable, because the child of a multithreaded process may do little except
/// `exec`. This program's parent has only one thread.
@_silgen_name("fork")
func systemFork() -> pid_t

/// Makes a listening socket on 127.0.0.1; exits if that fails.
func listen(port: UInt16) -> Int32 {
  let descriptor = socket(
    AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var on: Int32 = 1
  unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  address.sin_port = port.bigEndian
  let isBound = unsafe withUnsafeBytes(of: &address) { bytes in
    unsafe bind(
      descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
      socklen_t(bytes.count)) == 0
  }
  guard isBound, Glibc.listen(descriptor, 128) == 0 else {
    note("cannot listen on port \(port): \(unsafe String(cString: strerror(errno)))")
    exit(EX_UNAVAILABLE)
  }
  return descriptor
}

func portOfSocket(_ descriptor: Int32) -> UInt16 {
  var address = sockaddr_in()
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  unsafe withUnsafeMutableBytes(of: &address) { bytes in
    _ = unsafe getsockname(
      descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
  }
  return UInt16(bigEndian: address.sin_port)
}

/// Writes a line to the log.
func note(_ text: String) {
  let line = Array("prefork: \(text)\n".utf8)
  _ = unsafe write(STDERR_FILENO, line, line.count)
}
