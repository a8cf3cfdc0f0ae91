import Foundation
import Postmortem

/// A process with 100 threads in its own code and in Foundation, which crashes by a null read.
enum Victim {
  static let threadCount = 100

  static func crash(database: String) -> Never {
    do {
      try startHandler(database: database)
    } catch {
      fatalError("\(error)")
    }
    let started = DispatchSemaphore(value: 0)
    for index in 1..<threadCount {
      let thread = Thread {
        let depth = work(index, depth: index % 12) { values in
          started.signal()
          Thread.sleep(forTimeInterval: 1000)
          return values.count
        }
        print(depth)
      }
      thread.start()
    }
    for _ in 1..<threadCount { started.wait() }
    let address = UnsafePointer<Int>(bitPattern: UInt(threadCount % 2) + 8)
    print(address.map { $0.pointee } ?? 0)
    exit(1)
  }

  /// Makes frames of several functions and files, some of them inlined.
  @inline(never)
  static func work(_ seed: Int, depth: Int, body: ([Int]) -> Int) -> Int {
    if depth == 0 { return [seed].sorted { $0 < $1 }.map { $0 + 1 }.withBody(body) }
    return work(seed &* 31, depth: depth - 1, body: body) + seed
  }
}

extension [Int] {
  @inline(__always)
  func withBody(_ body: ([Int]) -> Int) -> Int { body(self) }
}
