internal import Dispatch
internal import Glibc
internal import Synchronization

/// The programs of the truth table that wait in Dispatch.
enum QueueScenes {
  /// 9: queue A calls `sync` on B, and B on A.
  static func crossedQueues() {
    let (orders, stock) = (DispatchQueue(label: "orders"), DispatchQueue(label: "stock"))
    Truth.start { Desk(own: orders, other: stock).serve() }
    Truth.start { Desk(own: stock, other: orders).serve() }
  }

  /// 10: a worker calls `sync` on the main queue, whose thread waits for the worker.
  static func mainQueue() {
    let page = Page()
    Truth.mainWork.withLock { $0 = { page.load() } }
  }

  /// 11: a semaphore with the value 1 that is taken and never given back.
  static func takenSemaphore() {
    let limiter = Limiter()
    limiter.enter()
    Truth.start { limiter.enterAgain() }
  }

  /// 12: a group that is never left.
  static func openGroup() {
    let batch = Batch()
    Truth.start { batch.finish() }
  }
}

/// Programs that are not in the table.
extension QueueScenes {
  /// 104: a work item that waits for itself.
  static func itemThatWaitsForItself() {
    let export = Export()
    export.start()
    Truth.gate.wait(for: 1)
    usleep(300_000)
  }
}

private final class Export: Sendable {
  nonisolated(unsafe) private var item: DispatchWorkItem?

  func start() {
    let item = DispatchWorkItem { self.finish() }
    unsafe self.item = item
    DispatchQueue(label: "export").async(execute: item)
  }

  func finish() {
    Truth.gate.open()
    unsafe item?.wait()
  }
}

private struct Desk {
  let own, other: DispatchQueue

  func serve() {
    own.sync {
      Truth.meet(2)
      other.sync { say("not reached") }
    }
  }
}

private final class Page: Sendable {
  private let done = DispatchSemaphore(value: 0)

  func load() {
    let done = done
    DispatchQueue.global().async {
      DispatchQueue.main.sync { say("not reached") }
      done.signal()
    }
    done.wait()
  }
}

private final class Limiter: Sendable {
  private let slots = DispatchSemaphore(value: 1)

  func enter() { slots.wait() }

  func enterAgain() {
    Truth.note()
    slots.wait()
  }
}

private final class Batch: Sendable {
  private let parts = DispatchGroup()

  init() { parts.enter() }

  func finish() {
    Truth.note()
    parts.wait()
  }
}
