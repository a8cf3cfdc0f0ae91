import CrashReport
import Foundation
import Glibc
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Synchronization
import Testing

@testable import CrashConverter

/// Deadlocks of threads of this process, as a dump shows them and as they are.
@Suite struct SecondLookTests {
  /// A thread that takes a mutex twice, and so waits for itself until another thread returns the mutex.
  @safe
  private final class Waiter: @unchecked Sendable {
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let id = Atomic<Int32>(0)
    private let isFree = DispatchSemaphore(value: 0)

    init() {
      unsafe pthread_mutex_init(mutex, nil)
      Thread.detachNewThread { [self] in
        unsafe pthread_mutex_lock(mutex)
        // "123/task/124".
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        id.store(path?.split(separator: "/").last.flatMap { Int32($0) } ?? 0, ordering: .relaxed)
        unsafe pthread_mutex_lock(mutex)
        isFree.signal()
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

  private let look = SecondLook(at: getpid())
  private let symbols = SymbolSource(directories: [], stored: nil, readsFiles: false)

  private func deadlocks(of snapshot: ProcessSnapshot) -> Int {
    CrashReport(snapshot: snapshot, symbolicating: false).waits.deadlocks.count
  }

  @Test func aDeadlockStays() {
    let waiter = Waiter()
    var snapshot = waiter.snapshot
    let before = snapshot
    #expect(deadlocks(of: snapshot) == 1)
    snapshot.removeDeadlocks(refutedBy: look, symbols: symbols)
    #expect(snapshot == before && deadlocks(of: snapshot) == 1)
    waiter.free()
  }

  @Test func aThreadThatHasContinuedIsInNone() {
    let waiter = Waiter()
    var snapshot = waiter.snapshot
    #expect(deadlocks(of: snapshot) == 1)
    waiter.free()
    snapshot.removeDeadlocks(refutedBy: look, symbols: symbols)
    #expect(deadlocks(of: snapshot) == 0)
    #expect(
      snapshot.threads.first?.systemCall
        == snapshot.threads.first?.systemCallNumber.map(String.init))
  }

  /// The dump was read while the lock was passed on.
  @Test func anOwnerOfAnotherMomentIsNone() {
    let waiter = Waiter()
    var snapshot = waiter.snapshot
    unsafe waiter.mutex.pointee.__data.__owner = 1
    snapshot.removeDeadlocks(refutedBy: look, symbols: symbols)
    #expect(deadlocks(of: snapshot) == 0)
    waiter.free()
  }

  /// The process that the dump is from has ended.
  @Test func withoutAProcessNothingIsRefuted() {
    let waiter = Waiter()
    var snapshot = waiter.snapshot
    snapshot.removeDeadlocks(refutedBy: SecondLook(at: .max), symbols: symbols)
    #expect(deadlocks(of: snapshot) == 1)
    waiter.free()
  }
}
