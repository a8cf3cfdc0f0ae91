import CrashTestSupport
import Glibc
import Testing

@testable import CrashHandler

@Suite struct PageCacheTests {
  /// Pages that the test allocates and fills with their numbers.
  @safe
  private struct Pages: ~Copyable {
    let base: UnsafeMutableRawPointer
    let count: Int

    init(_ count: Int) {
      self.count = count
      unsafe base = mmap(
        nil, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
      for page in 0..<count { fill(page, with: UInt8(truncatingIfNeeded: page + 1)) }
    }

    func address(_ page: Int) -> UInt64 {
      unsafe UInt64(UInt(bitPattern: base)) + UInt64(page) * 4096
    }

    func addresses(_ pages: [Int]) -> [UInt64] {
      let first = address(0)
      return pages.map { first + UInt64($0) * 4096 }
    }

    func fill(_ page: Int, with byte: UInt8) {
      unsafe memset(base + page * 4096, Int32(byte), 4096)
    }

    func forbid(_ page: Int) { _ = unsafe mprotect(base + page * 4096, 4096, PROT_NONE) }

    deinit {
      unsafe munmap(base, count * 4096)
    }
  }

  private func withCache(
    environment: Range<UInt64> = 0..<0, _ body: (SafeMemory, PageCache) throws -> Void
  ) rethrows {
    let base = UnsafeMutableRawPointer.allocate(
      byteCount: PageCache.byteCount, alignment: 4096)
    unsafe memset(base, 0, PageCache.byteCount)
    defer { unsafe base.deallocate() }
    let cache = unsafe PageCache(base: base)
    try body(
      unsafe SafeMemory(
        processID: getpid(), environmentStart: environment.lowerBound,
        environmentEnd: environment.upperBound, recoveryPoint: nil, pages: cache), cache)
  }

  private func copy(_ memory: SafeMemory, _ address: UInt64, count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let copied = unsafe bytes.withUnsafeMutableBytes {
      unsafe memory.copy(address, to: $0.baseAddress!, count: count)
    }
    return Array(bytes[..<copied])
  }

  private func readAhead(_ memory: SafeMemory, _ addresses: [UInt64]) {
    let ranges = addresses.flatMap { [$0, UInt64(PageCache.pageSize)] }
    unsafe ranges.withUnsafeBytes {
      memory.readAhead(unsafe Bytes($0.baseAddress!, count: $0.count))
    }
  }

  @Test func givesWhatTheMemoryHolds() {
    let pages = Pages(3)
    withCache { memory, _ in
      #expect(copy(memory, pages.address(0) + 4, count: 4) == [1, 1, 1, 1])
      #expect(copy(memory, pages.address(1) - 2, count: 4) == [1, 1, 2, 2])
      #expect(copy(memory, pages.address(0) + 1, count: 4096).count == 4096)
      #expect(memory.word(pages.address(2)) == 0x0303_0303_0303_0303)
      // The cache does not keep more than one page of a copy.
      #expect(copy(memory, pages.address(0), count: 3 * 4096).last == 3)
    }
  }

  @Test func keepsAPageAsItWasUntilItForgets() {
    let pages = Pages(1)
    withCache { memory, cache in
      #expect(copy(memory, pages.address(0), count: 1) == [1])
      pages.fill(0, with: 9)
      #expect(copy(memory, pages.address(0), count: 1) == [1])
      var direct = memory
      direct.pages = nil
      #expect(copy(direct, pages.address(0), count: 1) == [9])
      cache.removeAll()
      #expect(copy(memory, pages.address(0), count: 1) == [9])
    }
  }

  @Test func whatCannotBeReadIsAbsentAndTheRestIsNot() {
    let pages = Pages(4)
    pages.forbid(1)
    withCache { memory, _ in
      // The cache reads ahead the pages after a word, as far as they are readable.
      #expect(memory.word(pages.address(0)) != nil)
      #expect(memory.word(pages.address(1)) == nil)
      #expect(memory.word(pages.address(1) - 4) == nil)
      #expect(copy(memory, pages.address(0) + 4000, count: 200).count == 96)
      #expect(copy(memory, pages.address(2), count: 8) == [UInt8](repeating: 3, count: 8))
      for address in [0, 16, UInt64.max - 7, 0x8000_0000_0000_0000] {
        #expect(memory.word(address) == nil, "\(address)")
      }
    }
  }

  @Test func manyPagesAreReadAheadWhateverTheirOrder() {
    let pages = Pages(80)
    pages.forbid(40)
    withCache { memory, _ in
      readAhead(memory, pages.addresses([30, 41, 39, 40, 50]))
      for page in [30, 39, 41, 50] { pages.fill(page, with: 0xFF) }
      for page in [30, 39, 41, 50] {
        #expect(copy(memory, pages.address(page), count: 1) == [UInt8(page + 1)])
      }
      #expect(copy(memory, pages.address(40), count: 1).isEmpty)
      // There are more pages than the cache holds: the last ones stay.
      readAhead(memory, pages.addresses(Array(0..<80)))
      #expect(copy(memory, pages.address(79), count: 1) == [80])
      for page in 0..<80 where page != 40 && page != 30 && page != 39 && page != 41 && page != 50 {
        #expect(copy(memory, pages.address(page), count: 1) == [UInt8(page + 1)])
      }
    }
  }

  @Test func neverGivesBytesOfTheEnvironment() {
    let pages = Pages(4)
    let start = pages.address(1) + 1000
    withCache(environment: start..<pages.address(3)) { memory, _ in
      readAhead(memory, pages.addresses([0, 1, 2, 3]))
      #expect(copy(memory, pages.address(1), count: 4096).count == 1000)
      #expect(memory.word(pages.address(1)) != nil)
      #expect(memory.word(start - 4) == nil)
      #expect(memory.word(start) == nil)
      #expect(memory.word(pages.address(2)) == nil)
      #expect(memory.word(pages.address(3)) != nil)
    }
  }

  /// Reading past the end of a mapped file raises SIGBUS.
  @Test func aFileThatWasCutUnderItsMappingIsAbsent() throws {
    let directory = try TemporaryDirectory()
    let descriptor = unsafe open(directory.path + "/cut", O_RDWR | O_CREAT, 0o600)
    defer { close(descriptor) }
    #expect(ftruncate(descriptor, 2 * 4096) == 0)
    let mapping = unsafe mmap(nil, 2 * 4096, PROT_READ, MAP_PRIVATE, descriptor, 0)
    let base = unsafe try #require(mapping)
    defer { unsafe munmap(base, 2 * 4096) }
    let address = UInt64(UInt(bitPattern: base))
    #expect(ftruncate(descriptor, 4096) == 0)
    withCache { memory, _ in
      #expect(copy(memory, address, count: 8).count == 8)
      #expect(memory.word(address + 4096) == nil)
      readAhead(memory, [address, address + 4096])
      #expect(memory.word(address + 4096) == nil)
    }
  }

  @Test func memoryThatGoesWhileTheDumpIsTakenIsAbsent() {
    let pages = Pages(2)
    withCache { memory, cache in
      #expect(memory.word(pages.address(0)) != nil)
      pages.forbid(0)
      cache.removeAll()
      #expect(memory.word(pages.address(0)) == nil)
      #expect(memory.word(pages.address(1)) != nil)
    }
  }
}
