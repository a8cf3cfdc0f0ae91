import Dispatch
import Glibc
import Postmortem
import Synchronization

/// A socket that accepts connections from this machine.
struct Listener {
  let descriptor: Int32
  let port: UInt16

  /// Ends the process if the port is not available.
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

/// Sets O_NONBLOCK and FD_CLOEXEC.
func makeNonblocking(_ descriptor: Int32) {
  _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

/// The end of the server, which every event loop learns of at once.
final class Shutdown: Sendable {
  /// Readable from then on.
  let descriptor: Int32
  private let writer: Int32
  private let hasBegunFlag = Atomic(false)
  private let listener: Int32
  private let acceptingLoops: Atomic<Int>

  /// - Parameters:
  ///   - listener: closed when no loop accepts on it any more.
  ///   - loops: the number of loops.
  init(listener: Int32, loops: Int) {
    self.listener = listener
    acceptingLoops = Atomic(loops)
    var ends: [Int32] = [-1, -1]
    unsafe pipe(&ends)
    for end in ends { makeNonblocking(end) }
    (descriptor, writer) = (ends[0], ends[1])
  }

  var hasBegun: Bool { hasBegunFlag.load(ordering: .acquiring) }

  /// Begins when a signal comes.
  ///
  /// Until this returns the signal has its default action.
  ///
  /// In a function, not in main.swift: a closure there belongs to the main actor, and Swift ends the
  /// process that runs it on a queue.
  ///
  /// - Returns: the source, which must be kept.
  func begins(at signal: Int32) -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: signal, queue: .global())
    source.setEventHandler {
      // The next start can tell a shutdown that took too long from a crash.
      noteTermination(signal: signal)
      self.begin()
    }
    // Dispatch takes the signal some time later, on a queue of its own.
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

  /// Each loop says so once; then the kernel refuses clients, which find another server.
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
