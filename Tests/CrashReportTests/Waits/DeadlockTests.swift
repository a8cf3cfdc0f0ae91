import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// Cycles of waiting threads, and the reports on them.
@Suite struct DeadlockTests {
  /// Each thread waits for the mutex of the next one, the last for the first one's.
  private func cycle(of threads: [UInt32], lock: UInt32 = 2) -> WaitingProcess {
    var process = WaitingProcess()
    for (index, id) in threads.enumerated() {
      process.wait(id, at: 0x5000 + UInt64(index) * 0x100, "__lll_lock_wait", "pthread_mutex_lock")
      process.putMutex(
        at: 0x5000 + UInt64(index) * 0x100, owner: threads[(index + 1) % threads.count], lock: lock)
    }
    return process
  }

  @Test(arguments: [[7], [7, 8], [9, 8, 7], [8, 9, 7]]) func aCycle(threads: [UInt32]) throws {
    let waits = cycle(of: threads).waits
    let deadlock = try #require(waits.deadlocks.first)
    #expect(waits.deadlocks.count == 1 && deadlock.isCertain)
    // The sequence begins at the first place, no matter which thread came first.
    #expect(deadlock.waits.map(\.threadID).first == 7)
    #expect(Set(deadlock.waits.map(\.threadID)) == Set(threads))
    for (wait, next) in zip(deadlock.waits, deadlock.waits.dropFirst() + deadlock.waits.prefix(1)) {
      #expect(wait.owner == next.threadID)
    }
  }

  @Test func withoutTheMarkOfAWaiterItIsLikely() throws {
    let deadlock = try #require(cycle(of: [7, 8], lock: 1).waits.deadlocks.first)
    #expect(!deadlock.isCertain && deadlock.finding.certainty == .likely)
  }

  /// A thread can get the lock that it waited for while the dump is written.
  @Test func ofThreadsThatWereNotStoppedItIsCertainOnlyInAHangOfOneOfThem() {
    for (kind, threads, isCertain) in [
      (DumpRequest.Kind.program, [7, 8], false), (.hang, [7, 8], true), (.tool, [7, 8], true),
    ] as [(DumpRequest.Kind, [UInt32], Bool)] {
      var process = cycle(of: threads)
      process.stopNone()
      let report = process.report(kind: kind)
      #expect(report.cause?.kind == "deadlock")
      #expect(report.cause?.certainty == (isCertain ? .certain : .likely), "\(kind)")
      let text =
        "This is likely: the threads were not stopped, and may have continued during the dump."
      #expect(report.explanation?.contains(text) == !isCertain)
    }
    var process = WaitingProcess()
    process.wait(1, at: 0x9000, "poll")
    for (id, next) in [(8, 7), (7, 8)] as [(UInt32, UInt32)] {
      let lock = 0x5000 + UInt64(id) * 0x100
      process.wait(id, at: lock, "__lll_lock_wait", "pthread_mutex_lock")
      process.putMutex(at: lock, owner: next)
    }
    #expect(process.report().cause?.certainty == .certain)
    process.stopNone()
    #expect(process.report().cause?.certainty == .likely)
  }

  @Test func whoWaitsForACycleIsNotInIt() {
    var process = cycle(of: [8, 9])
    process.wait(7, at: 0x5000, "pthread_mutex_lock")
    let waits = process.waits
    #expect(waits.deadlocks.count == 1 && waits.deadlock(with: 7) == nil)
    #expect(waits.chain(from: 7) == [7, 9, 8])
  }

  @Test(arguments: [DumpRequest.Kind.hang, .tool, .program, .coreFile])
  func aDumpWithoutACrashHasItForItsCause(kind: DumpRequest.Kind) throws {
    var process = cycle(of: [8, 7])
    process.putBlocks { $0 }
    let report = process.report(kind: kind)
    #expect(report.cause?.kind == "deadlock" && report.cause?.certainty == .certain)
    #expect(
      report.explanation?.hasSuffix(
        """
        Deadlock: 2 threads wait for each other. Thread 7 waits in Shop.serve7() at Shop.swift:7 for the mutex \
        at 0x5100, held by thread 8. Thread 8 waits in Shop.serve8() at Shop.swift:8 for the mutex at \
        0x5000, held by thread 7.
        """) == true, "\(report.explanation ?? "")")
    let text = TextReport.text(of: report).split(separator: "\n").prefix(10).joined(separator: " ")
    #expect(text.contains("Shop.swift:7") && text.contains("Shop.swift:8"))
    #expect(HTMLReport.text(of: report).contains("Deadlock: 2 threads wait for each other."))
    #expect(report.json().contains(#""deadlocked":true"#))
    #expect(try SchemaTests.schema().errors(in: report.json()) == [])
    guard kind == .hang else { return }
    // The signature is the same for any thread that hangs.
    #expect(
      report.signature == "hang | deadlock | Shop.serve7() | Shop.serve8()",
      "\(report.signature ?? "")")
    #expect(report.place == "Shop.serve7() at Shop.swift:7")
    #expect(cycle(of: [7, 8]).report().signature == report.signature)
  }

  /// The first thread of a dump on request is the one that took it, which waits for nothing.
  @Test(arguments: [DumpRequest.Kind.tool, .program, .coreFile])
  func thePlaceOfADumpOnRequestIsThatOfTheCycle(kind: DumpRequest.Kind) throws {
    var process = WaitingProcess()
    process.run(1)
    for (id, next) in [(8, 7), (7, 8)] as [(UInt32, UInt32)] {
      let lock = 0x5000 + UInt64(id) * 0x100
      process.wait(id, at: lock, "__lll_lock_wait", "pthread_mutex_lock")
      process.putMutex(at: lock, owner: next)
    }
    let report = process.report(kind: kind)
    let place = "Shop.serve7() at Shop.swift:7"
    #expect(report.cause?.kind == "deadlock" && report.place == place, "\(report.place ?? "")")
    #expect(report.threads.first?.id == (kind == .program ? 1 : 7))
    #expect(report.signature == "dump | deadlock | Shop.serve7() | Shop.serve8()")
    let lines = TextReport.text(of: report).split(separator: "\n")
    #expect(lines.dropFirst().first == "in \(place)", "\(lines.prefix(3))")
    #expect(HTMLReport.text(of: report).contains("in \(place)"))
    #expect(report.json().contains(#""place":"\#(place)","#))
  }

  /// A lock's own method is in the stacks of all threads that wait for such a lock.
  @Test func aHangInAMethodOfALockIsItsCallers() {
    func report(_ caller: String) -> CrashReport {
      var process = WaitingProcess()
      var thread = ThreadSnapshot(id: 7)
      thread.systemCall = "202 0x5000 0x80 0x2 0x0 0x0 0x0 0x0 0x0"
      process.add(
        thread,
        [
          StackFrame("pthread_mutex_lock", module: 1), StackFrame("Core.PMutex.lock() -> ()"),
          StackFrame(caller, trust: .scan),
        ])
      return process.report()
    }
    let (first, second) = (report("Shop.pay() -> ()"), report("Shop.ship() -> ()"))
    #expect(first.signature == "hang | Shop.pay()" && first.place == "Shop.pay()")
    #expect(second.signature == "hang | Shop.ship()" && second.place == "Shop.ship()")
  }

  /// The kernel chooses the thread that takes the signal of a capture.
  @Test func aCaptureWithoutADeadlockIsAboutTheMainThread() {
    var process = WaitingProcess()
    process.run(1)
    process.wait(7, at: 0x5000, "pthread_mutex_lock")
    process.setProcessID(7)
    let report = process.report(kind: .tool)
    #expect(report.signature == "dump | Shop.serve7()")
    #expect(report.place == "Shop.serve7() at Shop.swift:7")
    #expect(process.report(kind: .program).signature == "dump | Shop.serve1()")
  }

  /// Without names, the place is an offset.
  @Test func thePlaceOfACycleWithoutNamesIsAnOffset() {
    var process = WaitingProcess()
    process.run(1)
    for (id, next) in [(8, 7), (7, 8)] as [(UInt32, UInt32)] {
      var thread = ThreadSnapshot(id: id)
      let lock = 0x5000 + UInt64(id) * 0x100
      thread.systemCall = "202 0x\(String(lock, radix: 16)) 0x80 0x2 0x0 0x0 0x0 0x0 0x0"
      process.add(
        thread, [StackFrame("pthread_mutex_lock", module: 1), StackFrame(nil, address: 0x420)])
      process.putMutex(at: lock, owner: next)
    }
    let report = process.report(kind: .tool)
    #expect(report.cause?.kind == "deadlock")
    #expect(report.place == "shop+0x420", "\(report.place ?? "")")
    #expect(report.signature == "dump | deadlock | shop+0x420")
    let lines = TextReport.text(of: report).split(separator: "\n")
    #expect(lines.dropFirst().first == "in shop+0x420 (no symbols)", "\(lines.prefix(3))")
  }

  /// It went on to another lock between the reading of its system call and the stop.
  @Test(arguments: [0x5000, 0x6000] as [UInt64])
  func aStoppedThreadWhoseRegistersTellOtherwiseWaitsForNothing(register: UInt64) {
    var process = WaitingProcess()
    var context = X86_64Context()
    context.rdi = register
    var thread = ThreadSnapshot(id: 7)
    (thread.context, thread.captureMethod) = (.x86_64(context), .stopped)
    thread.systemCall = "202 0x5000 0x80 0x2 0x0 0x0 0x0 0x0 0x0"
    process.add(thread, [StackFrame("pthread_mutex_lock", module: 1), StackFrame("f() -> ()")])
    process.putMutex(at: 0x5000, owner: 7)
    #expect(process.waits.deadlocks.count == (register == 0x5000 ? 1 : 0))
  }

  @Test func aHangIsTheOwners() {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, "pthread_mutex_lock")
    process.wait(8, at: 0x6000, "pthread_mutex_lock")
    process.run(9)
    process.putMutex(at: 0x5000, owner: 8)
    process.putMutex(at: 0x6000, owner: 9)
    let report = process.report()
    #expect(report.signature == "hang | Shop.serve9()" && report.cause == nil)
    #expect(report.hang?.waiter == 7)
    let owner = "held by thread 9, which runs in Shop.serve9() at Shop.swift:9."
    #expect(report.explanation?.contains(owner) == true, "\(report.explanation ?? "")")
    #expect(report.threads.first { $0.crashed }?.id == 9)
  }

  @Test func anOwnerThatEndedIsSaidTo() {
    func explanation(omitting: Bool) -> String {
      var process = WaitingProcess()
      process.wait(7, at: 0x5000, "pthread_mutex_lock")
      process.putMutex(at: 0x5000, owner: 100)
      process.setComplete()
      if omitting { process.omitThread() }
      return process.report().explanation ?? ""
    }
    #expect(explanation(omitting: false).contains("held by thread 100, which has ended."))
    #expect(
      explanation(omitting: true).contains("held by thread 100, which this dump does not show."))
  }

  /// Such a wait ends by itself.
  @Test(arguments: DumpRequest.Kind.allCases) func aCycleWithALimitIsNotCertain(
    kind: DumpRequest.Kind
  ) throws {
    var process = WaitingProcess()
    for (id, next) in [(8, 7), (7, 8)] as [(UInt32, UInt32)] {
      let lock = 0x5000 + UInt64(id) * 0x100
      process.wait(id, at: lock, "pthread_mutex_timedlock", hasLimit: id == 8)
      process.putMutex(at: lock, owner: next)
    }
    process.putBlocks { $0 }
    let deadlock = try #require(process.waits.deadlocks.first)
    #expect(!deadlock.isCertain && deadlock.waits.map(\.hasLimit) == [false, true])
    #expect(process.report(kind: kind).cause?.certainty == .likely)
  }

  /// The threads that a debugger in another PID namespace lists have other IDs there: 8 is 7, and 9 is 8.
  @Test func aDumpFromOutsideIsTranslated() throws {
    var process = WaitingProcess()
    process.wait(8, at: 0x5000, "pthread_mutex_lock")
    process.wait(9, at: 0x5100, "pthread_mutex_lock")
    process.putMutex(at: 0x5000, owner: 8)
    process.putMutex(at: 0x5100, owner: 7)
    let untold = process.report(kind: .coreFile)
    #expect(untold.cause?.certainty == .likely, "\(String(describing: untold.cause))")
    process.putBlocks { $0 - 1 }
    let report = process.report(kind: .coreFile)
    #expect(report.cause?.certainty == .certain)
    #expect(report.waits.all.map(\.owner) == [9, 8])
    #expect(report.waits.deadlocks.first?.waits.count == 2)
  }

  /// `/proc` of another PID namespace shows other IDs than the locks, and the dump lacks the memory of the threads.
  @Test func idsOfAnotherNamespaceNameNoThread() {
    var process = WaitingProcess()
    process.wait(8, at: 0x5000, "pthread_mutex_lock")
    process.run(9)
    process.putMutex(at: 0x5000, owner: 8)
    process.setStatus("Name:\tshop\nNStgid:\t8\t7\nNSpid:\t8\t7\n")
    process.setComplete()
    let wait = process.waits.all.first
    #expect(wait?.owner == nil && wait?.absentOwner == .init(id: 8, kind: .unknown))
    #expect(process.waits.deadlocks.isEmpty)
  }

  /// A thread of another process can have the ID of a thread of this process, in another PID namespace.
  @Test func anOwnerOfASharedLockIsNeverCertain() {
    for (owner, inDump) in [(UInt32(7), UInt32?.none), (8, 8), (100, nil)] {
      var process = WaitingProcess()
      process.wait(7, at: 0x5000, "pthread_mutex_lock", operation: 0)
      process.run(8)
      process.putMutex(at: 0x5000, owner: owner, kind: 0x80)
      process.setComplete()
      let waits = process.waits
      let wait = waits.all.first
      #expect(wait?.owner == inDump && wait?.isCertain == false && waits.deadlocks.isEmpty)
      #expect(
        wait?.absentOwner == (inDump == nil ? .init(id: owner, kind: .otherProcess) : nil))
    }
  }

  /// Robust mutexes have the flag of shared ones, but only shared memory can be locked by another process.
  @Test(arguments: [true, false]) func aRobustLockIsSharedOnlyInSharedMemory(isPrivate: Bool) {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, "pthread_mutex_lock", operation: 0)
    process.putMutex(at: 0x5000, owner: 7, lock: 7 | 1 << 31, kind: 0x90)
    process.map(0x5000, isPrivate: isPrivate)
    process.setComplete()
    let waits = process.waits
    #expect(waits.deadlocks.first?.isCertain == (isPrivate ? true : nil))
    #expect(
      waits.all.first?.absentOwner == (isPrivate ? nil : .init(id: 7, kind: .otherProcess)))
  }

  /// Two static variables of C++ functions that need each other; the memory of neither shows who initializes it.
  @Test func staticVariablesOfCPlusPlusAreALikelyDeadlock() throws {
    var process = WaitingProcess()
    for (id, own, other) in [(7, "_Z6pricesv", "_Z5ratesv"), (8, "_Z5ratesv", "_Z6pricesv")] {
      var thread = ThreadSnapshot(id: UInt32(id))
      thread.systemCall = "202 0x5000 0x80 0x2 0x0 0x0 0x0 0x7f0000 0x400000"
      process.add(
        thread,
        [
          StackFrame("__cxa_guard_acquire", module: 1), StackFrame(other), StackFrame("make"),
          StackFrame(own),
        ])
    }
    let deadlock = try #require(process.waits.deadlocks.first)
    #expect(deadlock.waits.count == 2 && !deadlock.isCertain)
  }

  /// The owner of the mutex waits for a semaphore, which shows no owner.
  @Test func aPossibleDeadlockIsNamedAsSuch() {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, "pthread_mutex_lock")
    process.wait(8, at: 0x6000, "sem_wait")
    process.putMutex(at: 0x5000, owner: 8)
    let text =
      "If a thread that waits for thread 8 has to signal the semaphore, this is a deadlock."
    for kind in [DumpRequest.Kind.hang, .tool] {
      let report = process.report(kind: kind)
      #expect(report.cause == nil && report.explanation?.contains(text) == true, "\(kind)")
    }
    process.setState("R", of: 8)
    #expect(process.report(kind: .tool).explanation?.contains("deadlock") == false)
  }

  @Test func anOwnerFromBeforeTheForkIsOfTheParent() {
    for (owner, kind) in [(UInt32(40), Wait.AbsentOwner.Kind.parentProcess), (60, .ended)] {
      var process = WaitingProcess()
      process.wait(50, at: 0x5000, "pthread_mutex_lock")
      process.putMutex(at: 0x5000, owner: owner)
      process.setProcessID(50)
      process.setComplete()
      #expect(process.waits.all.first?.absentOwner == .init(id: owner, kind: kind))
    }
  }

  @Test(
    arguments: [
      ("D", nil, "is in fsync, in uninterruptible sleep"), ("S", nil, "is in fsync"),
      ("R", nil, "runs"), ("D", "74 0x3", "is in fsync, in uninterruptible sleep"),
      ("S", "0 0x3", "is in read"),
    ] as [(Character, String?, String)])
  func theHeadSaysWhatTheOwnerDoes(state: Character, call: String?, words: String) {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, "pthread_mutex_lock")
    process.putMutex(at: 0x5000, owner: 8)
    process.add(
      ThreadSnapshot(id: 8),
      [StackFrame("__GI_fsync", module: 1), StackFrame("Shop.serve8() -> ()")])
    process.setState(state, systemCall: call, of: 8)
    let report = process.report()
    #expect(report.explanation?.contains("held by thread 8, which \(words)") == true)
  }

  /// A thread that hangs for another reason does not wait for the deadlock of other threads.
  @Test func aDeadlockOfOthersDoesNotBlockTheHungThread() {
    var process = WaitingProcess()
    process.add(ThreadSnapshot(id: 1), [StackFrame("poll", module: 1)])
    for (id, next) in [(8, 7), (7, 8)] as [(UInt32, UInt32)] {
      let lock = 0x5000 + UInt64(id) * 0x100
      process.wait(id, at: lock, "pthread_mutex_lock")
      process.putMutex(at: lock, owner: next)
    }
    let report = process.report()
    #expect(report.hang?.threadID == 7 && report.hang?.waiter == nil)
    #expect(report.threads.first.map { report.title(of: $0) }?.contains("blocks") == false)
  }

  /// The kernel refused the lock because of a deadlock: the lock word has an owner in the cycle, and its address
  /// is in a register.
  @Test func whatSwiftsMutexRefusesIsNamed() throws {
    let function = "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
    for owner: UInt32 in [7, 8, 50] {
      var process = WaitingProcess()
      var context = X86_64Context()
      context.rbx = 0x5000
      var thread = ThreadSnapshot(id: 7)
      thread.context = .x86_64(context)
      process.add(
        thread,
        [
          StackFrame("_assertionFailure", module: 1), StackFrame(function, module: 1),
          StackFrame("Shop.serve7() -> ()"),
        ])
      process.wait(8, at: 0x6000, function, operation: 134)
      process.put([owner | 1 << 31], at: 0x5000)
      process.put([7 | 1 << 31], at: 0x6000)
      let report = process.crash("Fatal error: Recursive call to lock Mutex")
      let found = report.waits.deadlock(with: 7)?.waits.map(\.threadID)
      #expect(found.map(Set.init) == (owner == 50 ? nil : owner == 7 ? [7] : [7, 8]))
    }
  }

  /// The kernel may refuse both waits of a cycle, if they begin at the same moment.
  @Test func twoThreadsThatSwiftsMutexRefusesAtOnceAreACycle() {
    for reaches in [true, false] {
      var process = WaitingProcess()
      for (id, lock) in [(7, 0x5000), (8, 0x6000)] as [(UInt32, UInt64)] {
        var context = X86_64Context()
        context.rbx = lock
        var thread = ThreadSnapshot(id: id)
        thread.context = .x86_64(context)
        process.add(
          thread,
          [
            StackFrame(
              id == 7 || reaches ? "$ss17_assertionFailure__4file4line5flagsABs" : "write",
              module: 1),
            StackFrame("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF", module: 1),
            StackFrame("Shop.serve\(id)() -> ()"),
          ])
      }
      process.put([8 | 1 << 31], at: 0x5000)
      process.put([7 | 1 << 31], at: 0x6000)
      let report = process.crash("Fatal error: Recursive call to lock Mutex")
      let found = report.waits.deadlock(with: 7)?.waits.map(\.threadID)
      #expect(found.map(Set.init) == (reaches ? [7, 8] : nil))
    }
  }

  /// In optimized code, other registers and the stack may have locks that the thread holds.
  @Test func theRegisterOfSelfSaysWhichOfSeveralLocksSwiftsMutexRefused() {
    let function = "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
    for owner: UInt32 in [7, 8] {
      var process = WaitingProcess()
      var context = X86_64Context()
      (context.r13, context.rbx) = (0x5000, 0x7000)
      var thread = ThreadSnapshot(id: 7)
      thread.context = .x86_64(context)
      process.add(
        thread, [StackFrame("_assertionFailure", module: 1), StackFrame(function, module: 1)])
      process.wait(8, at: 0x6000, function, operation: 134)
      process.put([owner | 1 << 31], at: 0x5000)
      process.put([7 | 1 << 31], at: 0x6000)
      process.put([owner == 7 ? 8 : 7], at: 0x7000)
      let report = process.crash("Fatal error: Recursive call to lock Mutex")
      let found = report.waits.deadlock(with: 7)?.waits.map(\.threadID)
      #expect(found.map(Set.init) == (owner == 7 ? [7] : [7, 8]))
    }
  }

  @Test func syncOnTheOwnQueueIsOne() throws {
    var process = WaitingProcess()
    process.add(
      ThreadSnapshot(id: 7),
      [
        StackFrame("__DISPATCH_WAIT_FOR_QUEUE__.cold.1", module: nil),
        StackFrame("_dispatch_sync_f_slow", module: nil), StackFrame("Shop.serve7() -> ()"),
      ])
    let cause = try #require(process.crash(nil).cause)
    #expect(cause.kind == "deadlock" && cause.certainty == .inferred)
    #expect(cause.text.contains("called sync on a queue that it runs itself"))
  }

  // MARK: - Chance

  /// Builds graphs of random owners: the cycles found must be those to which a walk from each thread returns.
  @Test func theCyclesAreThoseOfAnyGraph() {
    var random = SeededGenerator(seed: 42)
    for _ in 0..<500 {
      let count = UInt32.random(in: 1...12, using: &random)
      let isAcyclic = Bool.random(using: &random)
      let waits = (1...count).map { id in
        var wait = Wait(threadID: id, .mutex, at: 0x1000)
        let owners = isAcyclic ? id + 1...count + 1 : 1...count + 3
        wait.owner =
          Int.random(in: 0..<4, using: &random) == 0 ? nil : .random(in: owners, using: &random)
        return wait
      }
      let owners = Dictionary(uniqueKeysWithValues: waits.map { ($0.threadID, $0.owner) })
      let expected = Set(
        (1...count).filter { start in
          var next = owners[start] ?? nil
          for _ in 0..<count where next != nil && next != start { next = owners[next ?? 0] ?? nil }
          return next == start
        })
      let found = Waits(waits).deadlocks.flatMap { $0.waits.map(\.threadID) }
      #expect(found.count == Set(found).count && Set(found) == expected)
      if isAcyclic { #expect(found.isEmpty) }
    }
  }

  /// Random memory, calls and stacks, 100,000 with POSTMORTEM_WAITS=all: no input traps, and there is no cycle
  /// without an owner.
  @Test func noBytesTrap() {
    var random = SeededGenerator(seed: 7)
    let names: [String?] = [
      nil, "pthread_mutex_lock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_join",
      "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF", "_dispatch_sync_f_slow", "fputs",
      "__lll_lock_wait_private", "malloc", "poll", "_dispatch_once_wait",
    ]
    let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_WAITS"] == "all"
    for _ in 0..<(isFull ? 2000 : 60) {
      var process = WaitingProcess()
      for id: UInt32 in 1...50 {
        let word = [
          0x5000 + UInt64.random(in: 0..<64, using: &random) * 4,
          .random(in: 0 ... .max, using: &random),
        ]
        process.wait(
          id, at: word.randomElement(using: &random) ?? 0,
          names.randomElement(using: &random) ?? nil,
          names.randomElement(using: &random) ?? nil,
          operation: .random(in: 0..<512, using: &random))
      }
      let special: [UInt32] = [0, 1, 2, 3, 7, .max, 1 << 31 | 3, 0x5000]
      let words = (0..<96).map { _ in
        Bool.random(using: &random)
          ? UInt32.random(in: 0 ... .max, using: &random)
          : special.randomElement(using: &random) ?? 0
      }
      process.put(words, at: 0x5000 - 64)
      let waits = process.waits
      for deadlock in waits.deadlocks { #expect(deadlock.waits.allSatisfy { $0.owner != nil }) }
    }
  }
}

private struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }

}

// MARK: - Owners that the memory of a lock does not show

extension DeadlockTests {
  /// The kernel refuses a wait for a mutex with priority inheritance that completes a cycle.
  @Test func aRefusedMutexIsFoundFromTheStack() throws {
    for (owners, count) in [([8, 7], 2), ([8], 1)] as [([UInt32], Int)] {
      var process = WaitingProcess()
      process.wait(8, at: 0x9010, "__futex_abstimed_wait64", "__pthread_mutex_lock_full")
      process.setStackPointer(0x9000, of: 8)
      if owners.count == 2 {
        process.wait(7, at: 0x5000, "__pthread_mutex_lock_full", operation: 134)
      }
      process.putMutex(at: 0x5000, owner: 8, lock: 8 | 1 << 31, kind: 0x20)
      if owners.count == 2 { process.putMutex(at: 0x6000, owner: 7, lock: 7, kind: 0x20) }
      // The stack contains the address of the mutex's kind.
      process.put([owners.count == 2 ? 0x6010 : 0x5010, 0, 0, 0, 0, 0], at: 0x9000)
      let deadlock = try #require(process.waits.deadlocks.first)
      #expect(deadlock.waits.count == count && deadlock.isCertain, "\(deadlock)")
    }
  }

  @Test func aRefusedMutexWithoutItsMemoryIsSaidToBeRefused() {
    var process = WaitingProcess()
    process.wait(8, at: 0x9010, "__futex_abstimed_wait64", "__pthread_mutex_lock_full")
    process.setStackPointer(0x9000, of: 8)
    let report = process.report(kind: .tool)
    #expect(report.waits.deadlocks.isEmpty)
    #expect(report.waitSentences.joined().contains("The kernel did not let thread 8 wait"))
    // A mutex far from the stack pointer is an ordinary one.
    process.setStackPointer(0x1000, of: 8)
    #expect(!process.report(kind: .tool).waitSentences.joined().contains("kernel"))
  }

  /// The frame of a method that reads contains the address of the lock for which the method's body waits to write.
  @Test(arguments: [
    ("Shop.RWLock.read(_:) -> ()", 0x5000 as UInt32, true),
    ("Shop.RWLock.read(_:) -> ()", 0x6000, false), ("Shop.Table.read(_:) -> ()", 0x5000, false),
    ("Shop.RWLock.write(_:) -> ()", 0x5000, false),
  ])
  func aReaderThatWaitsToWriteWaitsForItself(_ method: String, _ word: UInt32, _ isSelf: Bool) {
    var process = WaitingProcess()
    process.wait(7, at: 0x5008, "__pthread_rwlock_wrlock")
    process.call(method, with: word)
    // One reader holds the lock.
    process.put([10, 0, 2, 1, 0, 0, 0, 0], at: 0x5000)
    let waits = process.waits
    #expect(waits.all.first?.readers == 1)
    #expect(waits.deadlocks.count == (isSelf ? 1 : 0))
    #expect(waits.deadlocks.allSatisfy { !$0.isCertain })
  }
}
