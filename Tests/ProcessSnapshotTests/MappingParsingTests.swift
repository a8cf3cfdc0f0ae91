import ProcessSnapshot
import Testing

@Suite struct MappingParsingTests {
  private func parse(_ text: String) -> [MemoryMapping] {
    MemoryMapping.mappings(parsing: Array(text.utf8)[...])
  }

  @Test func everyField() {
    #expect(
      parse(
        "55d0c8a00000-55d0c8a21000 r-xs 00003000 fd:1a 9437402                    /usr/bin/a b\n")
        == [
          MemoryMapping(
            start: 0x55D0_C8A0_0000, end: 0x55D0_C8A2_1000, protection: [.read, .execute],
            isPrivate: false, fileOffset: 0x3000, device: "fd:1a", inode: 9_437_402,
            path: "/usr/bin/a b")
        ])
  }

  @Test(arguments: [
    ("", ""), (" ", ""), ("                   [heap]", "[heap]"),
    (" /tmp/new\\012line", "/tmp/new\nline"), (" /tmp/back\\slash", "/tmp/back\\slash"),
    (" /tmp/x (deleted)", "/tmp/x (deleted)"), (" anon_inode:[perf]", "anon_inode:[perf]"),
  ])
  func path(ending: String, path: String) {
    #expect(parse("1000-2000 rw-p 00000000 00:00 0\(ending)\n").map(\.path) == [path])
  }

  @Test(arguments: [
    "", "\n", "-", "1000", "1000-", "1000-2000", "1000-2000 rw-p", "1000-2000 rw-p 0 00:00\n",
    "2000-1000 rw-p 0 00:00 0\n", "1000-1000 rw-p 0 00:00 0\n", "x000-2000 rw-p 0 00:00 0\n",
    "1000-2000 rw 0 00:00 0\n", "10000000000000000-20000000000000000 rw-p 0 00:00 0\n",
    "1000-2000 rw-p 0 00:00 12a\n", "1000-2000 rw-p 0 00:00 0",
  ])
  func linesThatAreNotTheKernels(text: String) {
    #expect(parse(text).isEmpty)
  }

  @Test func sortedAndWithoutOverlaps() {
    let mappings = parse(
      """
      5000-6000 rw-p 0 00:00 0
      nonsense
      1000-3000 rw-p 0 00:00 0
      2000-4000 rw-p 0 00:00 0
      ffffffffff600000-ffffffffff601000 --xp 0 00:00 0 [vsyscall]

      """)
    #expect(mappings.map(\.start) == [0x1000, 0x5000, 0xFFFF_FFFF_FF60_0000])
    #expect(mappings.last?.protection == [.execute])
  }

  @Test func anyBytes() {
    let line = Array("1000-2000 rw-p 00000000 00:00 0 /p\n".utf8)
    for index in line.indices {
      for byte in UInt8.min ... .max {
        var changed = line
        changed[index] = byte
        #expect(MemoryMapping.mappings(parsing: changed[...]).count <= 2)
      }
    }
  }
}
