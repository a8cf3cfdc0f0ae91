internal import CCrashLab
internal import Glibc
internal import Postmortem
internal import Synchronization

/// Has a number of requests open at once, each in a task that waits, and then crashes outside of them.
///
/// Request N has the values `request-id` = request-N and `user` = user-N. Every tenth request is in another context
/// inside, with the value `part` = part-N. Request 0 is the oldest. Others have ended before, some with an error.
///
/// As `forked-in-flight`, it forks, and the child crashes in a context of its own: `child` = own.
struct InFlight: Subcommand {
  private let count: Int
  private let isForked: Bool
  private let database: String

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("COUNT")
    guard let count = Int(words[0]), count >= 0 else {
      throw UsageError("'\(words[0])' is no number of requests")
    }
    self.count = count
    isForked = arguments.name == "forked-in-flight"
    database = try arguments.database
  }

  func run() throws {
    var options = HandlerOptions()
    options.heartbeatInterval = .milliseconds(100)
    try startHandler(database: database, identifier: "in-flight", options: options)
    let requests = Requests()
    for number in 0..<100 { Task.detached { await requests.end(number) } }
    requests.wait(for: 100)
    for number in 0..<count {
      Task.detached { await requests.open(number) }
      if number == 0 { requests.wait(for: 101) }
    }
    requests.wait(for: 100 + count)
    if isForked {
      unsafe condition_in_child({ _ in withContext("child", "own") { crash_builtin_trap() } }, nil)
    }
    print("ready")
    fflush(nil)
    // The caller kills the process instead, if it wants to.
    if readLine() == nil { crash_builtin_trap() }
    while true { sleep(1) }
  }
}

private final class Requests: Sendable {
  private struct Failure: Error {}

  /// The number of requests that wait or have ended.
  private let done = Atomic(0)

  func wait(for count: Int) {
    while done.load(ordering: .acquiring) < count { usleep(1000) }
  }

  func open(_ number: Int) async {
    await withContext(["request-id": "request-\(number)", "user": "user-\(number)"]) {
      await Task.yield()
      if number % 10 == 0 {
        await withContext("part", "part-\(number)") { await waitForever() }
      } else {
        await waitForever()
      }
    }
  }

  private func waitForever() async {
    await unsafe withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in
      done.add(1, ordering: .releasing)
    }
  }

  /// A request that ends, with an error or because its task was canceled.
  func end(_ number: Int) async {
    let task = Task {
      try await withContext("ended", "ended-\(number)") {
        try await Task.sleep(for: number % 2 == 0 ? .milliseconds(1) : .seconds(1000))
        throw Failure()
      }
    }
    if number % 2 != 0 { task.cancel() }
    _ = await task.result
    done.add(1, ordering: .releasing)
  }
}
