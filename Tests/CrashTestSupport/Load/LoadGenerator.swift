internal import Foundation

/// Clients that constantly send requests to a server, each with its own thread and connection.
public final class LoadGenerator: @unchecked Sendable {
  /// The results of all requests.
  public struct Outcome: Sendable, Equatable {
    /// Requests with a complete answer of status 200.
    public var answered = 0
    /// Requests without a complete answer.
    public var lost: [String] = []
    /// Requests with another status.
    public var refused: [String] = []
    /// The number of connections that the server announced to close.
    public var ended = 0
  }

  private let condition = NSCondition()
  private var outcome = Outcome()
  private var isStopping = false
  private var running: Int

  /// Connects and starts.
  ///
  /// - Parameters:
  ///   - port: the server's port on this machine.
  ///   - connections: the number of simultaneous requests.
  ///   - path: the path of every request.
  ///   - name: the start of the requests' IDs.
  ///
  /// - Throws: `SystemCallError` if no server listens on the port.
  public init(port: UInt16, connections: Int, path: String = "/", name: String = "load") throws {
    running = connections
    let clients = try (0..<connections).map { _ in Unshared(try HTTPClient(port: port)) }
    for (number, client) in clients.enumerated() {
      Thread.detachNewThread {
        self.run(client.value, path: path, name: "\(name)-\(number)")
      }
    }
  }

  /// Waits until a number of requests have been answered.
  ///
  /// - Returns: false if the connections end earlier.
  public func waitForAnswers(_ count: Int) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    while outcome.answered < count, running > 0 { condition.wait() }
    return outcome.answered >= count
  }

  /// Lets each client finish its request, and waits until all have finished.
  public func stop() -> Outcome {
    condition.lock()
    isStopping = true
    condition.unlock()
    return waitForEnd()
  }

  /// Waits until the server has ended all connections.
  public func waitForEnd() -> Outcome {
    condition.lock()
    defer { condition.unlock() }
    while running > 0 { condition.wait() }
    return outcome
  }

  private func run(_ client: HTTPClient, path: String, name: String) {
    var number = 0
    var goesOn = true
    while goesOn {
      number += 1
      let id = "\(name)-\(number)"
      let result = Result { try client.ask(path, id: id) }
      condition.lock()
      switch result {
      case .success(let answer):
        if answer.status == 200 { outcome.answered += 1 } else { outcome.refused.append(id) }
        if answer.isLast { outcome.ended += 1 }
        goesOn = !answer.isLast && !isStopping
      case .failure(let error):
        outcome.lost.append("\(error)")
        goesOn = false
      }
      if !goesOn { running -= 1 }
      condition.broadcast()
      condition.unlock()
    }
  }

  /// Passes a client to its thread.
  private struct Unshared: @unchecked Sendable {
    let value: HTTPClient
    init(_ value: HTTPClient) { self.value = value }
  }
}
