import Glibc
import Postmortem

/// Serves connections on the thread that calls `run()`, with poll(2).
final class EventLoop {
  private let number: Int
  private let listener: Int32
  private let shutdown: Shutdown
  private var connections: [Int32: Connection] = [:]
  private let router: Router

  /// The duration of a turn in milliseconds, far below the monitor's threshold, so that a server without clients does
  /// not count as hung.
  private static let turn: Int32 = 500
  /// The number of turns without a request after which a server that shuts down stops waiting for a client.
  private static let quietTurnsOfShutdown = 2
  /// The time after which a server that shuts down stops waiting for any client, even for one that is still sending a
  /// request.
  private static let timeOfShutdown = Duration.seconds(10)

  init(number: Int, listener: Int32, shutdown: Shutdown, router: Router) {
    self.number = number
    self.listener = listener
    self.shutdown = shutdown
    self.router = router
  }

  /// Returns after the shutdown has begun and every connection is closed.
  func run() {
    // Nil if there is no handler, for example with --no-handler.
    let monitor = try? HangMonitor.heartbeat(
      name: "loop-\(number)", options: HangMonitor.Options(threshold: .seconds(5)))
    defer { monitor?.stop() }
    while !shutdown.hasBegun {
      monitor?.heartbeat()
      let ready = wait(for: [shutdown.descriptor, listener])
      if ready.contains(listener) { acceptAll() }
      serve(ready)
    }
    // Serve the clients that are already connected, and tell them that the connection ends.
    acceptAll()
    shutdown.loopStoppedAccepting()
    let end = ContinuousClock.now + Self.timeOfShutdown
    var quietTurns = 0
    while !connections.isEmpty, quietTurns < Self.quietTurnsOfShutdown, .now < end {
      monitor?.heartbeat()
      let ready = wait(for: [])
      serve(ready)
      quietTurns = ready.isEmpty ? quietTurns + 1 : 0
    }
    for connection in connections.values { close(connection) }
  }

  /// Waits for at most one turn.
  ///
  /// - Returns: the readable descriptors among `others` and the connections.
  private func wait(for others: [Int32]) -> Set<Int32> {
    var polled = (others + connections.keys).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    guard unsafe poll(&polled, nfds_t(polled.count), Self.turn) > 0 else { return [] }
    return Set(polled.lazy.filter { $0.revents != 0 }.map(\.fd))
  }

  private func acceptAll() {
    while true {
      let descriptor = accept(listener, nil, nil)
      guard descriptor >= 0 else { return }
      makeNonblocking(descriptor)
      connections[descriptor] = Connection(descriptor: descriptor)
    }
  }

  private func serve(_ ready: Set<Int32>) {
    for descriptor in ready {
      guard let connection = connections[descriptor] else { continue }
      var isOpen = connection.receive()
      while isOpen, let request = connection.nextRequest() {
        guard let request else {
          connection.send(Response(status: "400 Bad Request", text: "bad\n"), keepsAlive: false)
          isOpen = false
          break
        }
        let response = router.answer(request)
        isOpen = connection.send(response, keepsAlive: request.keepsAlive && !shutdown.hasBegun)
      }
      if !isOpen { close(connection) }
    }
  }

  private func close(_ connection: Connection) {
    connections[connection.descriptor] = nil
    Glibc.close(connection.descriptor)
  }
}

/// A client's connection, and the received bytes that are not yet a complete request.
final class Connection {
  let descriptor: Int32
  private var received: [UInt8] = []

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Reads all available bytes; returns false if the client has disconnected.
  func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count > 0 {
        received += buffer.prefix(count)
        if count < buffer.count { return true }
      } else if count < 0, errno == EINTR {
        continue
      } else {
        return count < 0 && errno == EAGAIN
      }
    }
  }

  /// The next complete request; `.some(nil)` if the bytes are not a valid request, nil if more bytes are needed.
  func nextRequest() -> Request?? {
    switch Request.parse(received) {
    case .incomplete: return nil
    case .invalid: return .some(nil)
    case .request(let request, let count):
      received.removeFirst(count)
      return request
    }
  }

  /// Writes a response.
  ///
  /// - Returns: false if the caller must close the connection.
  @discardableResult
  func send(_ response: Response, keepsAlive: Bool) -> Bool {
    var rest = response.bytes(keepsAlive: keepsAlive)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count < 0, errno == EAGAIN {
        // Responses are small: if the client does not read for five seconds, close its connection.
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe Glibc.poll(&waiting, 1, 5000) == 1 else { return false }
      } else if count >= 0 || errno != EINTR {
        return false
      }
    }
    return keepsAlive
  }
}
