import Glibc
import IntermediateDump
import Synchronization
import Testing

@testable import CrashHandler

/// Zeroed memory for the structures of `ClientMemory`, shared between threads.
@safe
final class ClientBlock: @unchecked Sendable {
  let base: UnsafeMutableRawPointer
  let byteCount: Int

  init(_ byteCount: Int) {
    self.byteCount = byteCount
    unsafe base = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
    unsafe base.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
  }

  deinit { unsafe base.deallocate() }

  func cell(capacity: Int = 1024) -> ValueCell { unsafe ValueCell(base, capacity: capacity) }

  var memory: ClientMemory { unsafe ClientMemory(base, byteCount: byteCount) }

  func table(count: Int, capacity: Int = 64) -> CellTable {
    unsafe CellTable(
      base + 64, count: count, capacity: capacity,
      omitted: FutexWord(base.assumingMemoryBound(to: UInt32.self)))
  }
}

extension ValueCell {
  @discardableResult
  func set(_ bytes: [UInt8]) -> CellResult {
    unsafe set(
      key: nil, keyCount: 0, value: bytes, valueCount: bytes.count, replacing: nil)
  }

  /// The value and its state; nil if there is none.
  func value() -> (bytes: [UInt8], reading: CellReading)? {
    var place = [UInt8](repeating: 0xEE, count: capacity)
    guard let reading = unsafe read(into: &place) else { return nil }
    return (Array(place.prefix(reading.count)), reading)
  }
}

@Suite struct ValueCellTests {
  /// Bytes that show whether they belong together: all are equal, and their value is their count.
  private static func pattern(_ number: Int) -> [UInt8] {
    let byte = UInt8(truncatingIfNeeded: number)
    return Array(repeating: byte, count: 1 + Int(byte) * 4)
  }

  private static func isWhole(_ bytes: [UInt8]) -> Bool {
    guard let first = bytes.first else { return false }
    return bytes.count == 1 + Int(first) * 4 && bytes.allSatisfy { $0 == first }
  }

  @Test func isSetReplacedAndCleared() {
    let block = ClientBlock(8192)
    let cell = block.cell(capacity: 16)
    #expect(cell.value() == nil)
    for text in ["one", "", "three", "sixteen bytes ok"] {
      #expect(cell.set(Array(text.utf8)) == .done)
      #expect(cell.value().map { String(decoding: $0.bytes, as: UTF8.self) } == text)
      #expect(cell.value()?.reading.state == nil)
    }
    #expect(cell.set(Array("seventeen bytes !".utf8)) == .tooLong)
    cell.clear()
    #expect(cell.value() == nil)
    cell.set([1])
    #expect(cell.value()?.bytes == [1])
  }

  @Test func aVersionThatPassedIsNotReplaced() {
    let block = ClientBlock(8192)
    let cell = block.cell()
    let version = cell.state.version
    cell.set([1])
    let late = unsafe cell.set(
      key: nil, keyCount: 0, value: [2] as [UInt8], valueCount: 1, replacing: version)
    #expect(late == .overtaken)
    cell.clear(replacing: version)
    #expect(cell.value()?.bytes == [1])
    #expect(!cell.state.isBeingWritten)
  }

  @Test func writersThatStopInTheMiddleHoldUpNobody() throws {
    let block = ClientBlock(8192)
    let cell = block.cell()
    cell.set([1, 1, 1])
    // Three threads take a buffer each, write half of a value, and are stopped.
    let taken = (0..<3).map { _ in cell.take(nil).index }
    #expect(Set(taken).count == 3 && taken.allSatisfy { $0 >= 0 && $0 != cell.state.current })
    for index in taken {
      unsafe cell.buffer(index).storeBytes(of: UInt64.max, as: UInt64.self)
      unsafe cell.buffer(index).storeBytes(of: UInt64.max, toByteOffset: 8, as: UInt64.self)
    }
    let first = try #require(cell.value())
    #expect(first.bytes == [1, 1, 1] && first.reading.state == .beingReplaced)
    // A fourth thread finds no free buffer, so the old value is marked as stale.
    #expect(cell.set([4]) == .noBuffer)
    #expect(cell.value()?.bytes == [1, 1, 1] && cell.value()?.reading.state == .stale)
    // One of them continues: its value is stored, and the next value can be set again.
    unsafe cell.buffer(taken[1]).storeBytes(of: 2, as: UInt32.self)
    unsafe cell.buffer(taken[1]).storeBytes(of: 0, toByteOffset: 4, as: UInt32.self)
    #expect(cell.show(taken[1], replacing: nil) == .done)
    #expect(cell.value()?.bytes == [255, 255] && cell.value()?.reading.state == .beingReplaced)
    #expect(cell.set([5]) == .done)
    #expect(cell.value()?.bytes == [5])
  }

  @Test func aValueThatWasWrittenOverIsNotShown() {
    let block = ClientBlock(8192)
    let cell = block.cell()
    cell.set([1])
    unsafe cell.buffer(cell.state.current).storeBytes(of: 5000, as: UInt32.self)
    #expect(cell.value()?.reading.isReadable == false)
    // Reading works for any bits in the word.
    for word: UInt64 in [.max, 0x7F, 0x1234_5678_9ABC_DEF0] {
      unsafe block.base.storeBytes(of: word, as: UInt64.self)
      _ = cell.value()
    }
  }

  @Test func manyWritersAndAReader() {
    let block = ClientBlock(8192)
    let shared = Shared()
    let writers = (0..<4).map { writer in
      TestThread {
        var number = writer
        while !shared.isOver.load(ordering: .relaxed) {
          block.cell().set(Self.pattern(number))
          if number % 50 == 0 { block.cell().clear() }
          number += 1
        }
      }
    }
    var torn = 0
    var seen: Set<Int> = []
    var reads = 0
    // Reads until all writers have run, however busy the machine is.
    while reads < 3_000 || seen.count < 20 {
      reads += 1
      guard let value = block.cell().value(), value.reading.isReadable else { continue }
      if !Self.isWhole(value.bytes) { torn += 1 }
      seen.insert(value.bytes.count)
    }
    shared.isOver.store(true, ordering: .relaxed)
    for writer in writers { writer.join() }
    #expect(torn == 0)
    #expect(!block.cell().state.isBeingWritten)
    #expect(block.cell().set([9]) == .done)
    #expect(block.cell().value()?.bytes == [9])
  }

  private final class Shared: Sendable {
    let isOver = Atomic(false)
  }

  /// A signal stops a writer at any instruction, and the test then reads the value.
  @Test func aWriterStoppedAnywhere() throws {
    let block = ClientBlock(8192)
    block.cell().set(Self.pattern(1))
    let writer = StoppedWriter(block)
    defer { writer.end() }
    var betweenWrites = 0
    var inWrites = 0
    for _ in 0..<100 {
      writer.stop()
      let value = try #require(block.cell().value())
      #expect(value.reading.isReadable)
      #expect(Self.isWhole(value.bytes), "\(value.bytes.prefix(8)) \(value.bytes.count)")
      // Another thread may set the value in the meantime.
      if block.cell().state.isBeingWritten {
        inWrites += 1
        block.cell().set(Self.pattern(7))
        #expect(block.cell().value()?.bytes == Self.pattern(7))
      } else {
        betweenWrites += 1
      }
      writer.go()
    }
    #expect(inWrites > 0, "\(inWrites) of \(inWrites + betweenWrites) stops were in a write")
  }
}

/// A thread that constantly sets a value, and that a signal stops at any point.
@safe
private final class StoppedWriter: Sendable {
  // The words with which the signal handler and the test communicate.
  nonisolated(unsafe) private static let words: UnsafeMutablePointer<Int32> = {
    let words = UnsafeMutablePointer<Int32>.allocate(capacity: 3)
    unsafe words.initialize(repeating: 0, count: 3)
    return unsafe words
  }()
  private static let signal = SIGURG
  private let thread: TestThread<Void>
  private let handle: pthread_t

  init(_ block: ClientBlock) {
    unsafe Self.words.initialize(repeating: 0, count: 3)
    var action = sigaction()
    // The handler spins, because nothing in this test would end a blocking system call.
    unsafe action.__sigaction_handler.sa_handler = { _ in
      let words = unsafe StoppedWriter.words
      unsafe UnsafeAtomicWord(words).store(1)
      while unsafe UnsafeAtomicWord(words + 1).value == 0 { sched_yield() }
      unsafe UnsafeAtomicWord(words + 1).store(0)
    }
    unsafe sigaction(Self.signal, &action, nil)
    let started = Started()
    thread = TestThread {
      // The worker of Dispatch that makes this thread blocks the signal.
      var set = sigset_t()
      unsafe sigemptyset(&set)
      unsafe sigaddset(&set, StoppedWriter.signal)
      unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
      // A writer that is stopped while it allocates would hold a lock that other threads need.
      let bytes = ClientBlock(256 * 1024)
      for byte in 0..<256 {
        unsafe memset(bytes.base + byte * 1024, Int32(byte), 1024)
      }
      started.handle.store(UInt(pthread_self()), ordering: .releasing)
      var number = 0
      while unsafe UnsafeAtomicWord(StoppedWriter.words + 2).value == 0 {
        _ = unsafe block.cell().set(
          key: nil, keyCount: 0, value: bytes.base + number * 1024, valueCount: 1 + number * 4,
          replacing: nil)
        number = (number + 1) % 256
      }
    }
    while started.handle.load(ordering: .acquiring) == 0 { sched_yield() }
    handle = pthread_t(started.handle.load(ordering: .acquiring))
  }

  private final class Started: Sendable {
    let handle = Atomic<UInt>(0)
  }

  func stop() {
    unsafe UnsafeAtomicWord(Self.words).store(0)
    pthread_kill(handle, Self.signal)
    while unsafe UnsafeAtomicWord(Self.words).value == 0 { sched_yield() }
  }

  func go() {
    unsafe UnsafeAtomicWord(Self.words + 1).store(1)
    while unsafe UnsafeAtomicWord(Self.words + 1).value != 0 { sched_yield() }
  }

  func end() {
    unsafe UnsafeAtomicWord(Self.words + 2).store(1)
    thread.join()
    Glibc.signal(Self.signal, SIG_DFL)
  }
}

/// A word that a signal handler may access.
@unsafe
private struct UnsafeAtomicWord {
  private let word: FutexWord

  init(_ address: UnsafeMutablePointer<Int32>) {
    unsafe word = FutexWord(
      UnsafeMutableRawPointer(address).assumingMemoryBound(to: UInt32.self))
  }

  var value: UInt32 { unsafe word.value }
  func store(_ value: UInt32) { unsafe word.store(value) }
}
