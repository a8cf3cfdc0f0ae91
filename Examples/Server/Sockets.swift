import Dispatch
import Glibc
import Postmortem
import Synchronization

/// A listening socket on 127.0.0.1.
struct Listener {
  let descriptor: Int32
  let port: UInt16

  /// Listens on a port; exits if the port is not available.
  init(port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    makeNonblocking(descriptor)
    var on: Int32 = 1
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    let isListening = unsafe withUnsafeMutableBytes(of: &address) { bytes in
      let pointer = unsafe bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      return unsafe bind(descriptor, pointer, size) == 0 && listen(descriptor, 1024) == 0
        && getsockname(descriptor, pointer, &size) == 0
    }
    guard isListening else {
      note("cannot listen on port \(port): \(unsafe String(cString: strerror(errno)))")
      exit(EX_UNAVAILABLE)
    }
    self.descriptor = descriptor
    self.port = UInt16(bigEndian: address.sin_port)
  }
}

/// Sets O_NONBLOCK and FD_CLOEXEC on a descriptor.
func makeNonblocking(_ descriptor: Int32) {
  _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

/// The shutdown of the server, which wakes every event loop.
final class Shutdown: Sendable {
  /// Becomes readable when the shutdown begins.
  let descriptor: Int32
  private let writer: Int32
  private let hasBegunFlag = Atomic(false)
  private let listener: Int32
  private let acceptingLoops: Atomic<Int>

  /// - Parameters:
  ///   - listener: the listening socket; closed when all loops have stopped accepting.
  ///   - loops: the number of event loops.
  init(listener: Int32, loops: Int) {
    self.listener = listener
    acceptingLoops = Atomic(loops)
    var ends: [Int32] = [-1, -1]
    unsafe pipe(&ends)
    for end in ends { makeNonblocking(end) }
    (descriptor, writer) = (ends[0], ends[1])
  }

  var hasBegun: Bool { hasBegunFlag.load(ordering: .acquiring) }

  /// Begins the shutdown when a signal arrives.
  ///
  /// Until this function returns, the signal may still have its default action.
  ///
  /// This code is not in main.swift because closures there are isolated to the main actor: Swift ends a
  /// process that runs such a closure on another queue.
  ///
  /// - Returns: the signal source, which the caller must keep.
  func begins(at signal: Int32) -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: signal, queue: .global())
    source.setEventHandler {
      // Lets the next start distinguish a shutdown that took too long from a crash.
      noteTermination(signal: signal)
      self.begin()
    }
    // Dispatch registers the source asynchronously.
    let isRegistered = DispatchSemaphore(value: 0)
    source.setRegistrationHandler { isRegistered.signal() }
    source.activate()
    isRegistered.wait()
    return source
  }

  private func begin() {
    hasBegunFlag.store(true, ordering: .releasing)
    close(writer)
  }

  /// Called once by each loop; the last call closes the listener, so that new clients are refused.
  func loopStoppedAccepting() {
    let left = acceptingLoops.subtract(1, ordering: .acquiringAndReleasing).newValue
    if left == 0 { close(listener) }
  }
}

/// A thread that runs a closure.
final class ServerThread {
  private var thread = pthread_t()

  init(_ work: @escaping @Sendable () -> Void) {
    let box = unsafe Unmanaged.passRetained(Box(work)).toOpaque()
    let status = unsafe pthread_create(
      &thread, nil,
      { argument in
        unsafe Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().work()
        return nil
      }, box)
    guard status == 0 else {
      note("no thread: \(unsafe String(cString: strerror(status)))")
      exit(EX_OSERR)
    }
  }

  func join() { pthread_join(thread, nil) }

  private final class Box {
    let work: @Sendable () -> Void
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }
  }
}
