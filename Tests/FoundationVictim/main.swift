// A process for the tests of stacks: `FoundationVictim DATABASE` starts 15 threads that block in Foundation,
// libdispatch, libc and the kernel, each in a different way, and then crashes. With a second argument, `full` or
// `sanitized`, it only crashes, with data that contains a secret.
import Foundation
import Postmortem

if CommandLine.arguments.count == 3 {
  var options = HandlerOptions()
  if CommandLine.arguments[2] == "sanitized" { options.privacy = .sanitized }
  try startHandler(database: CommandLine.arguments[1], options: options)
  crashWithData()
}
guard CommandLine.arguments.count == 2 else {
  print("usage: FoundationVictim DATABASE [full|sanitized]")
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
// Long enough for most threads to block; the tests compare what the threads do at that moment.
usleep(200_000)
unsafe UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1

/// Crashes with pointers to data, and to the object that owns it, on the stack.
@inline(never)
func crashWithData() {
  let data = Data("dA8-dt-Pw6Kj3VsNg".utf8)
  // The second word of Data is its storage, with two bits for its representation.
  let storage = unsafe unsafeBitCast(data, to: (UInt64, UInt64).self).1 & 0x3FFF_FFFF_FFFF_FFFF
  unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2) { words in
    unsafe words[0] = storage
    unsafe words[1] = data.withUnsafeBytes { UInt64(UInt(bitPattern: $0.baseAddress)) }
    unsafe UnsafeMutablePointer<UInt64>(bitPattern: 8)?.pointee = words[0]
    print(unsafe words[1])
  }
  withExtendedLifetime(data) {}
}
