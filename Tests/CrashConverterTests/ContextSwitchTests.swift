import CrashAnalysis
import Foundation
import Glibc
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Synchronization
import Testing

@testable import CrashConverter

/// Deadlocks of threads of this process, as a dump shows them, and whether the threads have run since.
@Suite struct ContextSwitchTests {
  /// A thread that takes a mutex twice, and so waits for itself until another thread returns the mutex.
  @safe
  private final class Waiter: @unchecked Sendable {
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let id = Atomic<Int32>(0)
    private let isFree = DispatchSemaphore(value: 0)
    /// True while the thread must run without a pause after it is free.
    let isBusy = Atomic<Bool>(false)

    init() {
      unsafe pthread_mutex_init(mutex, nil)
      Thread.detachNewThread { [self] in
        unsafe pthread_mutex_lock(mutex)
        // "123/task/124".
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        id.store(path?.split(separator: "/").last.flatMap { Int32($0) } ?? 0, ordering: .relaxed)
        unsafe pthread_mutex_lock(mutex)
        isFree.signal()
        while isBusy.load(ordering: .relaxed) {}
      }
      while !isWaiting { usleep(1000) }
    }

    var threadID: UInt32 { UInt32(id.load(ordering: .relaxed)) }

    var call: String {
      (try? String(contentsOfFile: "/proc/self/task/\(threadID)/syscall", encoding: .utf8)) ?? ""
    }

    private var isWaiting: Bool {
      let word = unsafe String(UInt(bitPattern: mutex), radix: 16)
      return threadID != 0 && call.contains(" 0x\(word) ")
    }

    /// What a dump has of the thread.
    var snapshot: ProcessSnapshot {
      #if arch(arm64)
        var snapshot = ProcessSnapshot(architecture: .arm64)
      #else
        var snapshot = ProcessSnapshot(architecture: .x86_64)
      #endif
      var request = DumpRequest()
      request.kind = .tool
      snapshot.request = request
      var thread = ThreadSnapshot(id: threadID)
      (thread.state, thread.captureMethod, thread.systemCall) = ("S", .kernel, call)
      snapshot.threads = [thread]
      let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: mutex, count: 40))
      let address = unsafe Address(UInt64(UInt(bitPattern: mutex)))
      snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: address, bytes: bytes)])
      return snapshot
    }

    /// Lets the thread continue.
    func free() {
      unsafe pthread_mutex_unlock(mutex)
      isFree.wait()
    }
  }

  private let symbols = SymbolSource(directories: [], stored: nil, readsFiles: false)

  private func deadlocks(of snapshot: ProcessSnapshot) -> Int {
    CrashReport(snapshot: snapshot, symbolicating: false).waits.deadlocks.count
  }

  @Test func aDeadlockStays() {
    let waiter = Waiter()
    let switches = ContextSwitches(of: getpid())
    var snapshot = waiter.snapshot
    let before = snapshot
    #expect(deadlocks(of: snapshot) == 1)
    snapshot.removeDeadlocks(ofThreadsThatRanSince: switches, symbols: symbols)
    #expect(snapshot == before && deadlocks(of: snapshot) == 1)
    waiter.free()
  }

  @Test func aThreadThatHasContinuedIsInNone() {
    let waiter = Waiter()
    let switches = ContextSwitches(of: getpid())
    var snapshot = waiter.snapshot
    #expect(deadlocks(of: snapshot) == 1)
    waiter.free()
    snapshot.removeDeadlocks(ofThreadsThatRanSince: switches, symbols: symbols)
    #expect(deadlocks(of: snapshot) == 0)
    #expect(
      snapshot.threads.first?.systemCall
        == snapshot.threads.first?.systemCallNumber.map(String.init))
  }

  /// A thread that runs on without a pause has no further context switch yet.
  @Test func aThreadThatRunsIsInNone() {
    let waiter = Waiter()
    waiter.isBusy.store(true, ordering: .relaxed)
    let switches = ContextSwitches(of: getpid())
    var snapshot = waiter.snapshot
    waiter.free()
    snapshot.removeDeadlocks(ofThreadsThatRanSince: switches, symbols: symbols)
    waiter.isBusy.store(false, ordering: .relaxed)
    #expect(deadlocks(of: snapshot) == 0)
  }

  /// The thread began to wait after the count, so it may have had the lock when the dump was requested.
  @Test func aThreadThatCameLaterIsInNone() {
    let switches = ContextSwitches(of: getpid())
    let waiter = Waiter()
    var snapshot = waiter.snapshot
    snapshot.removeDeadlocks(ofThreadsThatRanSince: switches, symbols: symbols)
    #expect(deadlocks(of: snapshot) == 0)
    waiter.free()
  }

  /// A thread that was stopped has its registers and its call of one moment.
  @Test func aStoppedThreadStays() {
    let switches = ContextSwitches(of: getpid())
    let waiter = Waiter()
    var snapshot = waiter.snapshot
    snapshot.threads[0].captureMethod = .stopped
    let before = snapshot
    snapshot.removeDeadlocks(ofThreadsThatRanSince: switches, symbols: symbols)
    #expect(snapshot == before)
    waiter.free()
  }

  /// The process had ended when its threads were to be counted.
  @Test func withoutCountsNothingIsRefuted() {
    let waiter = Waiter()
    var snapshot = waiter.snapshot
    snapshot.removeDeadlocks(ofThreadsThatRanSince: ContextSwitches(of: .max), symbols: symbols)
    #expect(deadlocks(of: snapshot) == 1)
    waiter.free()
  }
}
