import CSignalSafe
import Glibc
import Testing

@testable import CrashHandler

/// A text that another thread replaces while the handler reads the process's memory, like the message of glibc's
/// `abort`.
@Suite struct ChangingTextTests {
  /// The page of the text was absent when the handler examined the pages around it.
  @Test func aTextThatWasMappedSinceIsRead() throws {
    let pageSize = sysconf(Int32(_SC_PAGESIZE))
    let room = UnsafeMutableRawPointer.allocate(
      byteCount: ResidentPages.byteCount, alignment: 16)
    defer { unsafe room.deallocate() }
    unsafe room.initializeMemory(as: UInt8.self, repeating: 0, count: ResidentPages.byteCount)
    var resident = unsafe ResidentPages(
      memory: Scratch(room, size: ResidentPages.byteCount), pageSize: pageSize)
    let descriptor = unsafe open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    resident.file = HeldFile(descriptor)
    let mapping = unsafe mmap(
      nil, 2 * pageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let pages = unsafe mapping, unsafe pages != MAP_FAILED else {
      Issue.record("no memory")
      return
    }
    defer { unsafe munmap(pages, 2 * pageSize) }
    let text = unsafe pages + pageSize
    let address = UInt64(UInt(bitPattern: text))
    unsafe pages.storeBytes(of: address, as: UInt64.self)
    // Examines all pages around it.
    #expect(!resident.run(address, count: 8).isHere)
    unsafe text.copyMemory(from: "four words of text", byteCount: 19)
    // There is no list of mappings yet, as before the threads are stopped.
    let counts = UnsafeMutablePointer<Int>.allocate(capacity: 3)
    unsafe counts.initialize(repeating: 0, count: 3)
    defer { unsafe counts.deallocate() }
    let table = unsafe MappingTable(
      text: room, textCapacity: 0, entries: room, capacity: 0, counts: counts,
      images: ImageTable(base: room))
    let memory = unsafe SafeMemory(
      processID: getpid(), environmentStart: 0, environmentEnd: 0, recoveryPoint: nil,
      absent: AbsentPages(
        resident: resident, mappings: table, proc: ProcReader(proc: -1)))
    var copy = [UInt8](repeating: 0, count: 64)
    let count = unsafe memory.copyText(
      atPointer: UInt64(UInt(bitPattern: pages)), skipping: 5, to: &copy, limit: 64)
    #expect(String(decoding: copy.prefix(count), as: UTF8.self) == "words of text")
  }
}
