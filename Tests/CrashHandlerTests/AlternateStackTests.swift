import CrashTestSupport
import Foundation
import Synchronization
import Testing

@testable import CrashHandler

/// The alternate stacks of threads; each test runs in a separate process.
@Suite struct AlternateStackTests {
  @Test func aThreadThatIsMadeLaterHasOneWithAPageBelowItThatCannotBeTouched() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      #expect(TestThread { SignalStack.current }.join() == nil, "before startHandler")
      try startHandler(database: database)
      for stackSize in [16 << 10, 256 << 10] {
        let stack = try #require(TestThread(stackSize: stackSize) { SignalStack.current }.join())
        // The size is slightly reduced, which marks the handler's own stacks: see StackOffers.firstSize.
        #expect(stack.size >= (64 << 10) - 48)
      }
      let (stack, below, above) = TestThread {
        let stack = SignalStack.current ?? SignalStack(base: 0, size: 0)
        return (
          stack, Mappings.protection(at: stack.base - 1),
          Mappings.protection(at: (stack.base + stack.size + 4095) / 4096 * 4096)
        )
      }.join()
      #expect(below == "---p" && above == "---p", "\(stack)")
    }
  }

  @Test func threadsThatExistGetOneAPthreadAndADispatchWorker() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      let pthread = WaitingThread(isWorker: false)
      let worker = WaitingThread(isWorker: true)
      try startHandler(database: database)
      let stacks = try [pthread, worker].map { try #require($0.end()) }
      #expect(stacks.allSatisfy { $0.size >= (64 << 10) - 48 })
      #expect(stacks[0].base != stacks[1].base)
    }
  }

  @Test func aStackThatAThreadHasAlreadyIsLeftToIt() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      let own = WaitingThread(
        isWorker: false,
        atStart: {
          var stack = unsafe stack_t()
          unsafe stack.ss_sp = UnsafeMutableRawPointer.allocate(byteCount: 99_000, alignment: 16)
          unsafe stack.ss_size = 99_000
          unsafe sigaltstack(&stack, nil)
        })
      try startHandler(database: database)
      #expect(own.end()?.size == 99_000)
    }
  }

  @Test func aThreadThatBlocksEverySignalIsLeftOutAndCanHelpItself() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      let blocked = WaitingThread(
        isWorker: false,
        atStart: {
          var mask = sigset_t()
          unsafe sigfillset(&mask)
          unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
        }, atEnd: { installAlternateStack() })
      try startHandler(database: database)
      let (before, after) = blocked.endWithBoth()
      #expect(before == nil)
      #expect(after != nil)
    }
  }

  @Test func switchedOffOnlyTheStartingThreadHasOneAndThoseThatAsk() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      let earlier = WaitingThread(isWorker: false)
      var options = HandlerOptions()
      options.alternateStacksOnAllThreads = false
      try startHandler(database: database, options: options)
      #expect(SignalStack.current != nil)
      #expect(earlier.end() == nil)
      #expect(TestThread { SignalStack.current }.join() == nil)
      let stacks = TestThread {
        let results = [installAlternateStack(), installAlternateStack()]
        return (results, SignalStack.current, Mappings.count)
      }.join()
      #expect(stacks.0 == [true, true])
      #expect(stacks.1 != nil)
    }
  }

  @Test func tenThousandThreadsThatEndLeaveNothingHoweverTheyEnd() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      try startHandler(database: database)
      func startAndJoin(_ count: Int) {
        for number in 0..<count {
          if number % 2 == 0 {
            #expect(TestThread { SignalStack.current != nil }.join())
            continue
          }
          var thread = pthread_t()
          let error = unsafe pthread_create(&thread, nil, { _ in pthread_exit(nil) }, nil)
          #expect(error == 0)
          pthread_join(thread, nil)
        }
      }
      startAndJoin(100)
      let before = Mappings.count
      startAndJoin(10_000)
      // The test process has other threads, a few of which may be new.
      #expect(Mappings.count < before + 100)
    }
  }

  @Test func aDetachedThreadAndACancelledOneLeaveNothingEither() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      try startHandler(database: database)
      var before = 0
      for round in 0..<300 {
        if round == 50 { before = Mappings.count }
        var thread = pthread_t()
        #expect(unsafe pthread_create(&thread, nil, { _ in while true { pause() } }, nil) == 0)
        pthread_cancel(thread)
        var result: UnsafeMutableRawPointer?
        unsafe pthread_join(thread, &result)
        #expect(UInt(bitPattern: result) == UInt.max, "PTHREAD_CANCELED")
        #expect(unsafe pthread_create(&thread, nil, { _ in nil }, nil) == 0)
        pthread_detach(thread)
      }
      // Detached threads end at any time.
      while try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count > 60 {
        usleep(1000)
      }
      #expect(Mappings.count < before + 100)
    }
  }

  @Test func destructorsOfThreadSpecificDataStillHaveIt() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      try startHandler(database: database)
      // The key is created after the handler's, so in each round libc calls its destructor after the handler's.
      var key = pthread_key_t()
      unsafe pthread_key_create(&key) { _ in
        if SignalStack.current != nil { seenInDestructor.add(1, ordering: .relaxed) }
      }
      TestThread { [key] in
        _ = unsafe pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: 1))
      }.join()
      #expect(seenInDestructor.load(ordering: .relaxed) == 1)
    }
  }

  @Test func noThreadIsMissedThatIsMadeWhileTheHandlerStarts() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      let makers = (0..<3).map { _ in
        TestThread { () -> Int in
          var kept: [TestThread<Bool>] = []
          while !handlerIsThere.load(ordering: .acquiring) {
            TestThread {}.join()
            guard kept.count < 100 else { continue }
            kept.append(
              TestThread {
                while !handlerIsThere.load(ordering: .acquiring) { usleep(20_000) }
                return SignalStack.current != nil
              })
            threadsMade.add(1, ordering: .relaxed)
          }
          return kept.filter { !$0.join() }.count
        }
      }
      while threadsMade.load(ordering: .relaxed) < 50 { usleep(100) }
      try startHandler(database: database)
      handlerIsThere.store(true, ordering: .releasing)
      let missed = makers.map { $0.join() }
      #expect(missed == [0, 0, 0], "\(missed) of \(threadsMade.load(ordering: .relaxed))")
    }
  }

  @Test func sigprofsActionIsAsBeforeAndTheWorkerThatGotTheSignalLives() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      let worker = WaitingThread(isWorker: true)
      signal(SIGPROF) { _ in profileSignals.add(1, ordering: .relaxed) }
      try startHandler(database: database)
      #expect(worker.end() != nil)
      raise(SIGPROF)
      #expect(profileSignals.load(ordering: .relaxed) == 1)
    }
  }

  @Test func aStackOfAThreadThatWasThereAndHasEndedGoesToAnother() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [database = directory.database as String] in
      let earlier = (0..<8).map { _ in WaitingThread(isWorker: false) }
      try startHandler(database: database)
      let bases = Set(earlier.compactMap { $0.end()?.base })
      #expect(bases.count == 8)
      // Each new thread tries one stack; the test's own threads keep some of them.
      let later = (0..<200).map { _ in TestThread { SignalStack.current?.base }.join() }
      #expect(bases.isSubset(of: Set(later.compactMap { $0 })))
    }
  }
}

private let seenInDestructor = Atomic(0)
private let profileSignals = Atomic(0)
private let handlerIsThere = Atomic(false)
private let threadsMade = Atomic(0)

/// The calling thread's alternate stack.
private struct SignalStack: Sendable {
  let base: UInt
  let size: UInt

  /// The thread's current alternate stack; nil if it has none.
  static var current: SignalStack? {
    var stack = unsafe stack_t()
    guard unsafe sigaltstack(nil, &stack) == 0, unsafe stack.ss_flags & Int32(SS_DISABLE) == 0
    else { return nil }
    return unsafe SignalStack(base: UInt(bitPattern: stack.ss_sp), size: UInt(stack.ss_size))
  }
}

/// The mappings of this process.
enum Mappings {
  private static var lines: [Substring] {
    ((try? KernelFile.text("/proc/self/maps")) ?? "")
      .split(separator: "\n")
  }

  static var count: Int { lines.count }

  /// The protection at an address, such as "rw-p"; empty if nothing is mapped.
  static func protection(at address: UInt) -> String {
    for line in lines {
      let fields = line.split(separator: " ")
      let limits = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      if limits[0] <= address, address < limits[1] { return String(fields[1]) }
    }
    return ""
  }
}

/// A thread that starts before the handler and returns its alternate stack afterwards.
private final class WaitingThread: Sendable {
  private let isThere = DispatchSemaphore(value: 0)
  private let isWanted = DispatchSemaphore(value: 0)
  private let isDone = DispatchSemaphore(value: 0)
  private let stacks = Mutex<(SignalStack?, SignalStack?)>((nil, nil))
  private let thread = Mutex<TestThread<Void>?>(nil)

  init(
    isWorker: Bool, atStart: @escaping @Sendable () -> Void = {},
    atEnd: @escaping @Sendable () -> Void = {}
  ) {
    let body: @Sendable () -> Void = { [self] in
      atStart()
      isThere.signal()
      isWanted.wait()
      let before = SignalStack.current
      atEnd()
      stacks.withLock { $0 = (before, SignalStack.current) }
      isDone.signal()
    }
    if isWorker {
      DispatchQueue(label: "waiting").async(execute: body)
    } else {
      thread.withLock { $0 = TestThread(body) }
    }
    isThere.wait()
  }

  func end() -> SignalStack? { endWithBoth().0 }

  /// The thread's alternate stack, and the one that it has after `atEnd`.
  func endWithBoth() -> (SignalStack?, SignalStack?) {
    isWanted.signal()
    isDone.wait()
    thread.withLock { $0 }?.join()
    return stacks.withLock { $0 }
  }
}
