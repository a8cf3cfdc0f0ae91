// A process for the tests of stacks: `FoundationVictim DATABASE` starts 15 threads that block in
// Foundation, libdispatch, libc and the kernel, each in another way, and then crashes.
import Foundation
import Postmortem

guard CommandLine.arguments.count == 2 else {
  print("usage: FoundationVictim DATABASE")
  exit(2)
}
try startHandler(database: CommandLine.arguments[1])

let ways: [@Sendable () -> Void] = [
  { Thread.sleep(forTimeInterval: 1_000) },
  { sleep(1_000) },
  { _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 1_000) },
  {
    let condition = NSCondition()
    condition.lock()
    condition.wait()
  },
  {
    let lock = NSLock()
    lock.lock()
    lock.lock()
  },
  {
    _ = NSConditionLock(condition: 1).lock(
      whenCondition: 2, before: Date(timeIntervalSinceNow: 1_000))
  },
  {
    let group = DispatchGroup()
    group.enter()
    group.wait()
  },
  { DispatchQueue(label: "sync").sync { Thread.sleep(forTimeInterval: 1_000) } },
  {
    let queue = OperationQueue()
    queue.addOperation { Thread.sleep(forTimeInterval: 1_000) }
    queue.waitUntilAllOperationsAreFinished()
  },
  { _ = Pipe().fileHandleForReading.readDataToEndOfFile() },
  { RunLoop.current.run(until: Date(timeIntervalSinceNow: 1_000)) },
  { _ = [3, 1, 2].sorted { $0 < $1 && usleep(900_000_000) == 0 } },
  { pause() },
  { DispatchQueue.concurrentPerform(iterations: 2) { _ in Thread.sleep(forTimeInterval: 1_000) } },
  { _ = try? JSONSerialization.data(withJSONObject: ["key": 1]).map { _ in pause() } },
]

let started = DispatchSemaphore(value: 0)
let threads = ways.enumerated().map { index, way in
  let thread = Thread {
    started.signal()
    way()
  }
  thread.name = "way-\(index)"
  thread.start()
  return thread
}
for _ in threads { started.wait() }
// Long enough for most to be where they block; what they are doing is compared, not awaited.
usleep(200_000)
unsafe UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1
