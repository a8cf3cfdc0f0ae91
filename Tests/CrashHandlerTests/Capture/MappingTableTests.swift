import CrashTestSupport
import Foundation
import Testing

@testable import CrashHandler

@Suite struct MappingTableTests {
  /// Adds the lines of a text to a table, 64 at a time, and passes the table to `body`.
  private func withTable(
    _ text: String, textCapacity: Int = 2 << 20, capacity: Int = 8192, near: UInt64 = 0,
    _ body: (MappingTable) throws -> Void
  ) throws {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: textCapacity, alignment: 16)
    let entries = UnsafeMutableRawPointer.allocate(
      byteCount: capacity * MappingTable.stride, alignment: 16)
    let counts = UnsafeMutablePointer<Int>.allocate(capacity: 3)
    unsafe counts.initialize(repeating: 0, count: 3)
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
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for start in stride(from: 0, to: lines.count, by: 64) {
      let end = min(start + 64, lines.count)
      let part = lines[start..<end].joined(separator: "\n") + (end < lines.count ? "\n" : "")
      let count = min(part.utf8.count, table.room.size)
      unsafe table.room.address.copyMemory(from: Array(part.utf8), byteCount: count)
      table.add(count, near: near)
    }
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
      #expect(room.size == (2 << 20) - text.utf8.count)
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

  @Test func leavesOutAndCountsWhatDoesNotFit() throws {
    try withTable(text, capacity: MappingTable.spare + 2) { table in
      #expect(table.count == 3)
      #expect(table.total == 4)
    }
    try withTable(text, capacity: MappingTable.nearSpare + 1) { table in
      #expect(paths(table) == ["/usr/bin/a program (deleted)"])
      #expect(table.total == 4)
    }
    try withTable(text, capacity: MappingTable.spare) { table in
      #expect(paths(table) == ["/usr/bin/a program (deleted)", "/usr/lib/libc.so.6"])
      #expect(table.total == 4)
    }
    // Without room for a mebibyte of text, only mappings near the stack pointer are added.
    try withTable(text, textCapacity: 1 << 20) { table in
      #expect(table.count == 0)
      #expect(table.total == 4)
      #expect(table.textCount == 0)
    }
  }

  @Test(arguments: [(0x1000_0000, 256), (0x1000_0000 + 9_000 * 0x2000, 256), (0x7fff_0000, 0)])
  func keepsRoomForTheMappingsAroundTheStackPointer(stackPointer: UInt64, near: Int) throws {
    // Mappings of one page with gaps of one page: 256 are within 1 MiB of a stack pointer in the middle.
    let lines = (0..<10_000).map { index in
      let start = 0x1000_0000 + index * 0x2000
      return
        "\(String(start, radix: 16))-\(String(start + 0x1000, radix: 16)) rw-p 00000000 00:00 0"
    }
    let first = 64
    try withTable(
      lines.joined(separator: "\n") + "\n", capacity: MappingTable.spare + first,
      near: stackPointer
    ) { table in
      #expect(table.total == 10_000)
      let isLow = stackPointer < 0x1000_0000 + 0x2000 * 512
      #expect(table.count == first + (near == 0 ? 0 : isLow ? 128 - first : 256))
      #expect(table.textCount < 100 * 1000)
      let mapping = table.mapping(around: stackPointer)
      #expect((mapping != nil) == (near > 0))
      if let mapping {
        let line = table.line(of: mapping)
        let text = unsafe String(
          decoding: UnsafeRawBufferPointer(start: line.address, count: line.count), as: UTF8.self)
        #expect(text == lines[Int((stackPointer - 0x1000_0000) / 0x2000)] + "\n")
      }
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
