import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// How each kind of wait is decoded, and when it names no lock.
@Suite struct WaitTests {
  private func only(_ process: WaitingProcess) throws -> Wait {
    try #require(process.waits.all.first)
  }

  @Test(arguments: [
    "__lll_lock_wait", "pthread_mutex_lock", "__pthread_mutex_lock@@GLIBC_2.2.5", nil,
  ])
  func aMutex(function: String?) throws {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, nil, function, "___pthread_mutex_lock")
    process.run(8)
    process.putMutex(at: 0x5000, owner: 8)
    let wait = try only(process)
    #expect(wait.subject == .mutex && wait.owner == 8 && wait.isCertain && wait.address == 0x5000)
    #expect(wait.place == "Shop.serve7() at Shop.swift:7")
  }

  struct MutexCase: Sendable {
    let lock: UInt32
    var kind: UInt32 = 0
    var owner: UInt32 = 8
    var found: UInt32?
    var isCertain = false

    /// The bit FUTEX_WAITERS.
    static let waiters: UInt32 = 1 << 31

    static let all = [
      // The mutex is locked and its waiters bit is not set yet: the thread is about to wait.
      MutexCase(lock: 1, found: 8), MutexCase(lock: 0, owner: 0),
      // A word that is no mutex's, an unknown kind, and no owner.
      MutexCase(lock: 77), MutexCase(lock: 2, kind: 0xFFFF), MutexCase(lock: 2, owner: 0),
      // For the kinds with priority inheritance and robustness, the word contains the owner.
      MutexCase(lock: 8 | waiters, kind: 0x20, found: 8, isCertain: true),
      MutexCase(lock: 8 | waiters, kind: 0x10, found: 8, isCertain: true),
      MutexCase(lock: 8, kind: 0x20, found: 8),
      MutexCase(lock: 8 | waiters, kind: 0x20, owner: 9, found: 8),
    ]
  }

  @Test(arguments: MutexCase.all) func aMutexIsBelievedAsFarAsItsWordsFit(_ words: MutexCase) throws
  {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, "pthread_mutex_lock")
    process.putMutex(at: 0x5000, owner: words.owner, lock: words.lock, kind: words.kind)
    let wait = try only(process)
    #expect(wait.subject == .mutex && wait.knownOwner == words.found, "\(wait)")
    #expect(wait.isCertain == words.isCertain, "\(wait)")
  }

  @Test func withoutNamesABeliefIsOnlyLikely() throws {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, nil, nil)
    process.wait(9, at: 0x6000, nil, nil)
    process.run(8)
    process.putMutex(at: 0x5000, owner: 8)
    // The owner is no thread of the process.
    process.putMutex(at: 0x6000, owner: 1000)
    let waits = process.waits.all
    #expect(waits[0].subject == .mutex && waits[0].owner == 8 && !waits[0].isCertain)
    #expect(waits[1].subject == .unknown && waits[1].owner == nil)
  }

  @Test func aMutexOfSwift() throws {
    let function = "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
    for (word, operation, owner, isCertain) in [
      (UInt32(1 << 31 | 8), 134, UInt32?(8), true), (8, 134, 8, false),
      (0, 134, nil, false), (1 << 30 | 8, 134, 8, false),
      // Newer versions: 0, 1 or 2, without an owner.
      (2, 128, nil, false),
    ] {
      var process = WaitingProcess()
      process.wait(7, at: 0x5004, function, operation: operation)
      process.put([word, 0], at: 0x5004)
      let wait = try only(process)
      #expect(wait.subject == .swiftMutex && wait.knownOwner == owner, "\(wait)")
      #expect(wait.isCertain == isCertain, "\(word) \(operation)")
    }
  }

  struct ReadWriteCase: Sendable {
    let reads: Bool
    /// The offset within the lock of the word on which the thread waits.
    let offset: UInt64
    let words: [UInt32]
    var owner: UInt32?
    var readers = 0

    /// The words of a lock according to `pthread_rwlock_common.c`: readers, writers, phase, writer's word,
    /// padding, writer.
    static let all = [
      // A reader waits for a writer, on the word of the phase.
      ReadWriteCase(reads: true, offset: 8, words: [11, 0, 3, 1, 0, 0, 8, 0], owner: 8),
      // A writer waits for another writer, on the writer's word.
      ReadWriteCase(reads: false, offset: 12, words: [3, 1, 1, 3, 0, 0, 8, 0], owner: 8),
      // A writer waits for two readers, on the word of the phase.
      ReadWriteCase(reads: false, offset: 8, words: [18, 0, 2, 1, 0, 0, 0, 0], readers: 2),
      // A reader waits after a writer that waits for a reader, on the word of the readers.
      ReadWriteCase(reads: true, offset: 0, words: [14, 0, 2, 1, 0, 0, 0, 0], readers: 1),
      // A word on which no thread waits.
      ReadWriteCase(reads: false, offset: 8, words: [18, 0, 0, 1, 0, 0, 8, 0]),
    ]
  }

  @Test(arguments: ReadWriteCase.all) func aReadWriteLock(_ lock: ReadWriteCase) throws {
    var process = WaitingProcess()
    process.wait(
      7, at: 0x5000 + lock.offset,
      lock.reads ? "__pthread_rwlock_rdlock" : "__pthread_rwlock_wrlock")
    process.put(lock.words, at: 0x5000)
    let wait = try only(process)
    #expect(wait.knownOwner == lock.owner && wait.readers == lock.readers, "\(wait)")
    #expect(wait.isCertain == (lock.owner != nil))
    if lock.owner != nil || lock.readers > 0 { #expect(wait.address == 0x5000) }
  }

  @Test func theEndOfAThread() throws {
    var process = WaitingProcess()
    process.wait(7, at: 0x9000_02D0, "__pthread_clockjoin_ex", operation: 265)
    process.run(8, threadPointer: 0x9000_0000)
    process.put([8], at: 0x9000_02D0)
    let wait = try only(process)
    #expect(wait.subject == .thread && wait.owner == 8 && wait.isCertain)
  }

  /// The thread waits for the queue of the call, or for its target queue, which another thread runs.
  @Test(arguments: [UInt32(9), 7]) func aQueue(firstOwner: UInt32) throws {
    var process = WaitingProcess()
    process.wait(
      7, at: 0x7F00_0060, "_dispatch_thread_event_wait_slow", "__DISPATCH_WAIT_FOR_QUEUE__")
    process.put([0xA000, 0], at: 0x7F00_0038)
    process.put([.max, 7], at: 0x7F00_0060)
    for (queue, owner, target) in [(UInt32(0xA000), firstOwner, UInt32(0xB000)), (0xB000, 8, 0)] {
      process.put([target, 0], at: UInt64(queue) + 24)
      process.put([owner | 1 << 31, 1], at: UInt64(queue) + 56)
      process.put([queue + 0x100, 0], at: UInt64(queue) + 72)
      process.put(queue == 0xA000 ? "db" : "pool", at: UInt64(queue) + 0x100)
    }
    let wait = try only(process)
    #expect(wait.subject == .queue && wait.isCertain)
    #expect(wait.knownOwner == (firstOwner == 7 ? 8 : 9))
    #expect(wait.label == (firstOwner == 7 ? "pool" : "db"))
  }

  @Test(arguments: [
    ("pthread_cond_wait", Wait.Subject.condition),
    ("__new_sem_wait_slow64.constprop.0", .semaphore),
    ("dispatch_semaphore_wait", .semaphore), ("_dispatch_group_wait_slow", .group),
    ("pthread_barrier_wait", .barrier), ("__cxa_guard_acquire", .once),
    ("_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjj", .future),
    ("poll", .unknown), ("malloc", .unknown),
  ])
  func whatNamesNoOwner(function: String, subject: Wait.Subject) throws {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, function)
    process.run(8)
    process.putMutex(at: 0x5000, owner: 8)
    let wait = try only(process)
    #expect(wait.subject == subject && wait.owner == nil && !wait.isCertain)
  }

  /// These functions wait by means of a condition or a group.
  @Test(arguments: [
    (
      "pthread_cond_wait", "$s10Foundation14OperationQueueC31waitUntilAllOperationsAreFinishedyyF",
      Wait.Subject.operation
    ),
    ("_dispatch_group_wait_slow", "dispatch_block_wait", .workItem),
  ])
  func theOuterFunctionNamesTheObject(
    inner: String, outer: String, subject: Wait.Subject
  ) throws {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, inner, outer)
    #expect(try only(process).subject == subject)
  }

  @Test func theHeapsLock() throws {
    var process = WaitingProcess()
    process.wait(7, at: 0x5000, "__lll_lock_wait_private", "_int_free", "free")
    #expect(try only(process).subject == .allocator)
  }

  @Test(arguments: [false, true]) func theLockOfAFile(isKnown: Bool) throws {
    var process = WaitingProcess()
    process.run(7)
    process.setState("S", systemCall: "73 0x3 0x2 0x0 0x0 0x0 0x0 0x7f0000 0x400000", of: 7)
    process.lock(
      "/srv/journal", descriptor: 3,
      isKnown ? FileLockWait(threadID: 7, holder: 42, holderName: "backup") : nil)
    let wait = try only(process)
    #expect(wait.subject == .fileLock && wait.label == "/srv/journal" && wait.owner == nil)
    let owner = Wait.AbsentOwner(id: 42, kind: .otherProcess, name: "backup")
    #expect(wait.absentOwner == (isKnown ? owner : nil))
    #expect(wait.isCertain == isKnown)
  }

  /// A write sleeps while its pipe or socket is full; a write to a file waits for the disk.
  @Test(arguments: [
    (DescriptorKind.pipe, 1, true), (.socket, 44, true), (.file, 1, false), (.pipe, 0, false),
  ])
  func aWriteToAFullPipe(kind: DescriptorKind, call: Int, isWait: Bool) {
    var process = WaitingProcess()
    process.run(7)
    process.setState(
      "S", systemCall: "\(call) 0x3 0x5000 0x100 0x0 0x0 0x0 0x7f0000 0x400000", of: 7)
    process.lock("pipe:[4711]", descriptor: 3, kind: kind, nil)
    let wait = process.waits.all.first
    #expect((wait?.subject == .write && wait?.label == "pipe:[4711]") == isWait)
    #expect(isWait || wait == nil)
  }

  @Test func noOtherCallIsAWait() {
    var process = WaitingProcess()
    process.run(8)
    for call in [
      "0 0x5000 0x80", "running", "-1 0x1 0x2", "202", "202 0x0 0x80 0x2 0x0 0x0 0x0 0x0 0x0",
      "202 0x5001 0x80 0x2 0x0 0x0 0x0 0x0 0x0", "202 0x5000 0x80",
    ] {
      var thread = ThreadSnapshot(id: 7)
      thread.systemCall = call
      process.add(thread, [StackFrame("pthread_mutex_lock", module: 1)])
    }
    #expect(process.waits.all.isEmpty)
  }

  /// The main thread takes the dump for `postmortem capture`, and is about to restart its system call.
  @Test func aThreadThatASignalInterrupted() throws {
    var process = WaitingProcess()
    var context = X86_64Context()
    (context.rax, context.rdi, context.rsi, context.rip) = (202, 0x5000, 128, 0x10_1000)
    var thread = ThreadSnapshot(id: 7)
    thread.context = .x86_64(context)
    process.add(thread, [StackFrame("pthread_mutex_lock", module: 1)])
    #expect(process.waits.all.isEmpty)
    process.put([0x050F], at: 0x10_1000)
    process.putMutex(at: 0x5000, owner: 8)
    #expect(try only(process).knownOwner == 8)
  }

  @Test func anInterruptedThreadThatWaitsForAChild() throws {
    var process = WaitingProcess()
    var context = X86_64Context()
    (context.rax, context.rdi, context.rip) = (61, 42, 0x10_1000)
    var thread = ThreadSnapshot(id: 7)
    thread.context = .x86_64(context)
    process.add(thread, [StackFrame("waitpid", module: 1)])
    #expect(process.waits.all.isEmpty)
    process.put([0x050F], at: 0x10_1000)
    let wait = try only(process)
    #expect(wait.subject == .child && wait.label == "42")
  }

  /// Compares with the layouts of the C library that runs the tests.
  @Test func theLayoutsAreGlibcs() throws {
    let own = try #require(UInt32(try threadID()))
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    defer { unsafe lock.deallocate() }
    unsafe pthread_mutex_init(lock, nil)
    unsafe pthread_mutex_lock(lock)
    #expect(
      unsafe words(UnsafeRawBufferPointer(start: lock, count: 40), at: 0).mutex == .init(own, false)
    )
    unsafe pthread_mutex_unlock(lock)
    let shared = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
    defer { unsafe shared.deallocate() }
    unsafe pthread_rwlock_init(shared, nil)
    unsafe pthread_rwlock_wrlock(shared)
    // The words are read with the mark of a waiting thread added.
    let place = unsafe UnsafeMutableRawBufferPointer(start: shared, count: 56)
    #expect(unsafe place[8] == 1)
    let found = unsafe words(UnsafeRawBufferPointer(place), at: 8, marking: 8)
      .readWriteLock(reads: true)
    #expect(found?.owner == .init(own, true) && found?.start == 0x5000)
    unsafe pthread_rwlock_unlock(shared)
  }

  private func threadID() throws -> String {
    let place = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
    return String(place.split(separator: "/").last ?? "")
  }

  private func words(
    _ memory: UnsafeRawBufferPointer, at offset: UInt64, marking index: Int? = nil
  ) -> LockWords {
    var bytes = unsafe [UInt8](memory)
    if let index { bytes[index] |= 2 }
    return LockWords(
      memory: MemorySnapshot(joining: [MemoryRegion(address: 0x5000, bytes: bytes)]),
      word: Address(0x5000 + offset))
  }
}
