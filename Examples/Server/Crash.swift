import Dispatch
import Glibc

/// A way to crash or to hang, and the path of the request that triggers it.
struct Crash: Sendable {
  let path: String
  let run: @Sendable () -> Void

  static let all: [Crash] = [
    Crash(path: "/crash/fatal-error", run: failInvoice),
    Crash(path: "/crash/array", run: printOrderPastTheEnd),
    Crash(path: "/crash/unwrap", run: printMissingOrder),
    Crash(path: "/crash/overflow", run: addPrices),
    Crash(path: "/crash/throw", run: cancelShippedOrder),
    Crash(path: "/crash/null", run: writeThroughNull),
    Crash(path: "/crash/abort", run: callAbort),
    Crash(path: "/crash/stack-overflow", run: followEndlessOrders),
    Crash(path: "/crash/dispatch", run: failOnAnotherThread),
    Crash(path: "/hang", run: stopAnswering),
    Crash(path: "/crash/kill", run: killProcess),
  ]
}

private struct OrderError: Error {
  let order: String
}

private let orders = ["1", "2", "3"]

/// The number 0, computed at run time so that the compiler cannot diagnose or optimize the crashes.
private var zero: Int { Int(getppid()) &- Int(getppid()) }

private func failInvoice() { fatalError("the invoice has no customer") }

private func printOrderPastTheEnd() { print(orders[orders.count + zero]) }

private func printMissingOrder() { print(orders.first { $0 == "missing" }!) }

private func addPrices() { print(UInt8(200) + UInt8(truncatingIfNeeded: 200 &+ zero)) }

private func cancelShippedOrder() { try! cancel(order: "1") }

private func cancel(order: String) throws { throw OrderError(order: order) }

private func writeThroughNull() {
  unsafe UnsafeMutablePointer<Int>(bitPattern: 8 &+ zero)?.pointee = 1
}

private func callAbort() { abort() }

private func followEndlessOrders() { print(depth(of: zero)) }

/// An optimizer turns a sum into a loop, which never overflows the stack.
@inline(never)
private func depth(of order: Int) -> Int { order < 0 ? 0 : depth(of: order &+ 1) &* 3 ^ order }

/// Crashes on a Dispatch worker thread, which does not inherit the request's context.
private func failOnAnotherThread() {
  DispatchQueue.global().async { fatalError("on a worker of Dispatch") }
  sleep(60)
}

/// Stops answering without a crash.
///
/// If the process is killed during the hang, the next start reports the hang.
private func stopAnswering() { while true { sleep(60) } }

/// Kills the process without a dump; the next start reports how the run ended.
private func killProcess() { kill(getpid(), SIGKILL) }
