import CSignalSafe
import Glibc
import Synchronization
import Testing

@testable import CrashHandler

@Suite struct SafeMemoryTests {
  /// Three pages, the middle one of which is unreadable.
  @safe
  private struct Pages: ~Copyable {
    let base: UnsafeMutableRawPointer

    init() {
      unsafe base = mmap(
        nil, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
      unsafe memset(base, 0x5A, 3 * 4096)
      unsafe mprotect(base + 4096, 4096, PROT_NONE)
    }

    var address: UInt64 { unsafe UInt64(UInt(bitPattern: base)) }

    deinit {
      unsafe munmap(base, 3 * 4096)
    }
  }

  private func withMemory<Result>(
    environment: Range<UInt64> = 0..<0, _ body: (SafeMemory) throws -> Result
  ) rethrows -> Result {
    let pad = UnsafeMutablePointer<pm_recovery_point>.allocate(capacity: 1)
    unsafe pad.initialize(to: pm_recovery_point())
    defer { unsafe pad.deallocate() }
    return try body(
      unsafe SafeMemory(
        processID: getpid(), environmentStart: environment.lowerBound,
        environmentEnd: environment.upperBound, recoveryPoint: pad))
  }

  private func copy(_ memory: SafeMemory, _ address: UInt64, count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let copied = unsafe bytes.withUnsafeMutableBytes {
      unsafe memory.copy(address, to: $0.baseAddress!, count: count)
    }
    return Array(bytes[..<copied])
  }

  @Test func copiesWhatIsReadableAndStopsAtWhatIsNot() {
    let pages = Pages()
    withMemory { memory in
      #expect(copy(memory, pages.address, count: 64) == [UInt8](repeating: 0x5A, count: 64))
      #expect(copy(memory, pages.address + 4000, count: 200).count == 96)
      #expect(copy(memory, pages.address + 4096, count: 8).isEmpty)
      #expect(copy(memory, pages.address + 8192, count: 8).count == 8)
      #expect(memory.word(pages.address + 4092) == nil)
    }
  }

  @Test func refusesAddressesThatCannotBe() {
    withMemory { memory in
      for address in [0, 16, UInt64.max, UInt64.max - 7, 0x8000_0000_0000_0000] {
        #expect(copy(memory, address, count: 64).isEmpty, "\(address)")
      }
    }
  }

  @Test func neverGivesBytesOfTheEnvironment() {
    let pages = Pages()
    let start = pages.address
    withMemory(environment: start + 1000..<start + 4096) { memory in
      #expect(copy(memory, start, count: 4096).count == 1000)
      #expect(copy(memory, start + 1000, count: 8).isEmpty)
      #expect(copy(memory, start + 2000, count: 8).isEmpty)
      #expect(copy(memory, start + 8192, count: 8).count == 8)
    }
  }

  @Test func theRangeFoundAtLaunchHoldsTheRealEnvironment() {
    let range = EnvironmentRange.current()
    #expect(range.start != 0)
    // The kernel's strings lie between the start of the stack and the end of its mapping.
    let strings = unsafe CommandLine.unsafeArgv[0].map { UInt64(UInt(bitPattern: $0)) } ?? 0
    #expect(strings >= range.start)
    #expect(strings < range.end)
  }

  /// Another thread replaces the text all the time, as when several threads abort at once, each with its own
  /// message.
  @Test func textThatIsReplacedMeanwhileIsReadAgain() {
    let place = UnsafeMutablePointer<UInt>.allocate(capacity: 1)
    unsafe place.initialize(to: Self.newText())
    let address = UInt(bitPattern: place)
    let isOver = Mutex(false)
    withExtendedLifetime(isOver) {
      let replacer = TestThread {
        while !isOver.withLock({ $0 }) { Self.replaceText(at: address) }
      }
      let missed = withMemory { memory in
        (0..<4_000).count { _ in
          var bytes = [UInt8](repeating: 0, count: 64)
          let count = unsafe memory.copyText(
            atPointer: UInt64(address), skipping: 4, to: &bytes, limit: 64)
          return bytes[..<count] != Array("abort".utf8)[...]
        }
      }
      isOver.withLock { $0 = true }
      replacer.join()
      #expect(missed == 0)
    }
    unsafe munmap(UnsafeMutableRawPointer(bitPattern: place.pointee), 4096)
    unsafe place.deallocate()
  }

  /// Allocates a page as libc does for its message.
  private static func newText() -> UInt {
    let page = unsafe mmap(
      nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
    unsafe memcpy(page + 4, "abort", 6)
    return UInt(bitPattern: page)
  }

  private static func replaceText(at address: UInt) {
    let place = unsafe UnsafeMutablePointer<UInt>(bitPattern: address)!
    let old = unsafe place.pointee
    unsafe place.pointee = newText()
    unsafe munmap(UnsafeMutableRawPointer(bitPattern: old), 4096)
  }
}
