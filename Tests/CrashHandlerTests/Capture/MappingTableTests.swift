import CrashTestSupport
import Foundation
import Testing

@testable import CrashHandler

@Suite struct MappingTableTests {
  /// Parses a text into a table, and passes it to `body`.
  private func withTable(
    _ text: String, textCapacity: Int = 1 << 20, capacity: Int = 4096,
    _ body: (MappingTable) throws -> Void
  ) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let descriptor = unsafe open(file.path, O_RDONLY)
    defer { close(descriptor) }
    let memory = UnsafeMutableRawPointer.allocate(byteCount: textCapacity, alignment: 16)
    let entries = UnsafeMutableRawPointer.allocate(
      byteCount: capacity * MappingTable.stride, alignment: 16)
    let counts = UnsafeMutablePointer<Int>.allocate(capacity: 2)
    unsafe counts.initialize(repeating: 0, count: 2)
    let images = UnsafeMutableRawPointer.allocate(byteCount: ImageTable.byteCount, alignment: 16)
    unsafe ImageTable(base: images).removeAll()
    defer {
      unsafe images.deallocate()
      unsafe memory.deallocate()
      unsafe entries.deallocate()
      unsafe counts.deallocate()
    }
    let table = unsafe MappingTable(
      text: memory, textCapacity: textCapacity, entries: entries, capacity: capacity,
      counts: counts, images: ImageTable(base: images))
    table.findLines(unsafe read(descriptor, memory, textCapacity))
    try body(table)
  }

  private let text = """
    55e92f6c6000-55e92f71f000 r-xp 00000000 fe:00 2361 /usr/bin/a program (deleted)
    7f19dbbf7000-7f19dbbf8000 ---p 00000000 00:00 0\u{20}
    7f19dbbf8000-7f19dc3f8000 rw-p 00000000 00:00 0\u{20}
    7f19e12de000-7f19e1304000 r--p 00026000 fe:00 77 /usr/lib/libc.so.6

    """

  private func paths(_ table: MappingTable) -> [String] {
    (0..<table.count).map { index in
      let bytes = table.path(of: table[index])
      return unsafe String(
        decoding: UnsafeRawBufferPointer(start: bytes.address, count: bytes.count), as: UTF8.self)
    }
  }

  /// With little memory, the list of threads is read into the space after the mappings.
  @Test func whatIsReadIntoTheRoomLeavesThePathsAsTheyAre() throws {
    try withTable(text) { table in
      let before = paths(table)
      #expect(before == ["/usr/bin/a program (deleted)", "", "", "/usr/lib/libc.so.6"])
      let room = table.room
      #expect(room.size == (1 << 20) - text.utf8.count)
      unsafe room.address.initializeMemory(as: UInt8.self, repeating: 0x78, count: room.size)
      #expect(paths(table) == before)
    }
  }

  @Test func readsEveryField() throws {
    try withTable(text) { table in
      #expect(table.count == 4)
      let first = table[0]
      #expect(first.start == 0x55e9_2f6c_6000)
      #expect(first.end == 0x55e9_2f71_f000)
      #expect(first.has(Mapping.isReadable))
      #expect(!first.has(Mapping.isWritable))
      #expect(first.has(Mapping.isExecutable))
      #expect(first.has(Mapping.startsFile))
      let bytes = table.path(of: first)
      let path = unsafe String(
        decoding: UnsafeRawBufferPointer(start: bytes.address, count: bytes.count), as: UTF8.self)
      #expect(path == "/usr/bin/a program (deleted)")
      #expect(!table[1].has(Mapping.isReadable))
      #expect(!table[1].hasPath)
      #expect(!table[3].has(Mapping.startsFile))
    }
  }

  @Test func findsTheMappingThatEndsAboveAnAddress() throws {
    try withTable(text) { table in
      #expect(table.index(endingAbove: 0) == 0)
      #expect(table.index(endingAbove: 0x55e9_2f71_efff) == 0)
      #expect(table.index(endingAbove: 0x55e9_2f71_f000) == 1)
      #expect(table.index(endingAbove: 0x7f19_dbbf_7fff) == 1)
      #expect(table.index(endingAbove: UInt64.max) == 4)
    }
  }

  @Test func findsTheDeviceOfEachFile() throws {
    let text = """
      1000-3000 rw-p 00000000 00:00 0
      3000-4000 rw-s 00000000 00:01 5 /dev/zero (deleted)
      7000-8000 rw-p 00000000 fe:1a 2 /usr/bin/program
      8000-9000 rw-s 00000000 00:2f 0

      """
    try withTable(text) { table in
      let devices = (0..<table.count).map { index in
        var scanner = table.device(of: table[index])
        let major = scanner.hexadecimal()
        scanner.skip(0x3A)
        return [major, scanner.hexadecimal()]
      }
      #expect(devices == [[0, 0], [0, 1], [0xFE, 0x1A], [0, 0x2F]])
    }
  }

  @Test func leavesOutWhatDoesNotFit() throws {
    try withTable(text, capacity: 2) { #expect($0.count == 2) }
    // The second line is truncated within its first address, so it is no range.
    try withTable(text, textCapacity: 90) { table in
      #expect(table.textCount == 90)
      #expect(table.count == 1)
    }
  }

  @Test func agreesWithTheKernelOnThisProcess() throws {
    let maps = try KernelFile.text("/proc/self/maps")
    let lines = maps.split(separator: "\n")
    try withTable(maps) { table in
      #expect(table.count == lines.count)
      for (index, line) in lines.enumerated() where index < table.count {
        let mapping = table[index]
        let range = "\(String(mapping.start, radix: 16))-\(String(mapping.end, radix: 16))"
        // The kernel pads addresses to eight digits.
        let padded = range.split(separator: "-").map {
          String(repeating: "0", count: max(0, 8 - $0.count)) + $0
        }.joined(separator: "-")
        #expect(line.hasPrefix(padded + " "))
      }
    }
  }
}
