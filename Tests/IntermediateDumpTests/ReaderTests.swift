import DumpInspection
import IntermediateDump
import Testing

@Suite struct ReaderTests {
  /// Three properties in the root, a map and an array of two maps.
  private static let sample: [UInt8] =
    DumpBytes.header
    + DumpBytes.property(900, [1])
    + DumpBytes.map(100, DumpBytes.property(101, [1, 2, 3, 4]) + DumpBytes.property(103, [0x41]))
    + DumpBytes.array(
      400,
      DumpBytes.map(401, DumpBytes.property(402, [5, 0, 0, 0]))
        + DumpBytes.map(401, DumpBytes.property(402, [6, 0, 0, 0])))
    + [0x06]

  /// The tokens of a map, as paths of keys.
  private func paths(_ map: IntermediateDumpMap) -> [String] {
    map.entries.flatMap { entry -> [String] in
      switch entry.value {
      case .property(let range): ["\(entry.key)=\(range.count)"]
      case .map(let map): ["\(entry.key){"] + paths(map)
      case .array(let elements):
        ["\(entry.key)["]
          + elements.flatMap { element -> [String] in
            guard case .map(let map) = element.value else { return ["?"] }
            return ["\(element.key){"] + paths(map)
          }
      }
    }
  }

  @Test func aTruncatedDumpKeepsAllBeforeTheBreak() throws {
    // The offset after each token that adds an entry, and the entry; written by hand from the format.
    let ends: [(Int, String)] = [
      (40, "900=1"), (43, "100{"), (54, "101=4"), (62, "103=1"), (66, "400["), (69, "401{"),
      (80, "402=4"), (84, "401{"), (95, "402=4"),
    ]
    #expect(Self.sample.count == 98)
    for length in 32..<Self.sample.count {
      let document = try IntermediateDumpDocument(parsing: Array(Self.sample.prefix(length)))
      #expect(!document.isComplete)
      #expect(paths(document.root) == ends.filter { $0.0 <= length }.map(\.1), "at \(length)")
    }
    let whole = try IntermediateDumpDocument(parsing: Self.sample)
    #expect(whole.isComplete)
    #expect(paths(whole.root) == ends.map(\.1))
  }

  @Test(arguments: 0..<32)
  func fewerBytesThanAHeaderAreNoDump(length: Int) {
    #expect {
      try IntermediateDumpDocument(parsing: Array(Self.sample.prefix(length)))
    } throws: {
      ($0 as? IntermediateDumpError)?.code == .tooShort
    }
  }

  @Test func noFlippedBitOrByteTraps() {
    for index in Self.sample.indices {
      for value in [0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x7F, 0x80, 0xFF] as [UInt8] {
        read(replacing: index, with: value)
      }
      for bit in 0..<8 { read(replacing: index, with: Self.sample[index] ^ 1 << bit) }
    }
  }

  private func read(replacing index: Int, with value: UInt8) {
    var bytes = Self.sample
    bytes[index] = value
    guard let document = try? IntermediateDumpDocument(parsing: bytes) else {
      #expect(index < 16, "only the header can make a file unreadable")
      return
    }
    if let damage = document.damage { #expect((32...98).contains(damage.offset)) }
    // All data that was read can be printed and looked up.
    #expect("\(IntermediateDumpTree(document))".hasSuffix("\n"))
    for key in IntermediateDumpKey.allCases {
      _ = document.root.unsigned(key)
      _ = document.root.signed(key)
      _ = document.root.text(key)
      _ = document.root.array(key)
      _ = document.root.map(key)
    }
  }

  @Test func theHeaderIsChecked() throws {
    func code(_ offset: Int, _ value: UInt8) -> IntermediateDumpError.Code? {
      var bytes = Self.sample
      bytes[offset] = value
      do {
        _ = try IntermediateDumpDocument(parsing: bytes)
        return nil
      } catch {
        return error.code
      }
    }
    for offset in 0..<8 { #expect(code(offset, 0xEE) == .notAnIntermediateDump) }
    #expect(code(8, 2) == .unknownVersion)
    #expect(code(9, 1) == .unknownVersion)
    #expect(code(11, 4) == .unknownWordSize)
    #expect(code(12, 31) == .invalidHeaderSize)
    #expect(code(12, 99) == .invalidHeaderSize)
    #expect(code(15, 0xFF) == .invalidHeaderSize)
    #expect(code(10, 77) == nil)
    #expect(code(16, 0xFF) == nil)
  }

  @Test func aLongerHeaderOfALaterWriterIsSkipped() throws {
    var bytes = Self.sample
    bytes[12] = 36
    bytes.insert(contentsOf: [9, 9, 9, 9], at: 32)
    let document = try IntermediateDumpDocument(parsing: bytes)
    #expect(document.isComplete)
    #expect(document.root.unsigned(.capture) == 1)
  }

  @Test(arguments: [
    (0, 0, true), (1, 1, true), (1, 0, false), (1 << 31, 4, false), (0xFFFF_FFFF, 4, false),
    (0xFFFF_FFF8, 4, false), ((64 << 20) + 1, 4, false), (64 << 20, 4, false),
  ])
  func lengthsAreTakenOnlyIfTheBytesAreThere(length: UInt32, available: Int, isRead: Bool) throws {
    let bytes =
      DumpBytes.header + DumpBytes.property(900, [7])
      + DumpBytes.property(103, length: length, Array(repeating: 0x41, count: available))
    let document = try IntermediateDumpDocument(parsing: bytes)
    #expect(document.root.unsigned(.capture) == 7)
    #expect((document.root.data(.executablePath) != nil) == isRead)
    #expect(document.damage?.offset == (isRead ? bytes.count : 40))
  }

  @Test func aPropertyOfTheGreatestLengthIsRead() throws {
    let size = 64 << 20
    let bytes =
      DumpBytes.header
      + DumpBytes.property(503, length: UInt32(size), Array(repeating: 1, count: size)) + [0x06]
    let document = try IntermediateDumpDocument(parsing: bytes)
    #expect(document.isComplete)
    #expect(document.root.data(.regionData)?.count == size)
    let longer =
      DumpBytes.header
      + DumpBytes.property(503, length: UInt32(size + 1), Array(repeating: 1, count: size + 1))
      + [0x06]
    #expect(try !IntermediateDumpDocument(parsing: longer).isComplete)
  }

  @Test func sixteenLevelsAreReadAndNoMore() throws {
    func nested(_ depth: Int) -> [UInt8] {
      (0..<depth).reduce(DumpBytes.property(101, [1])) { contents, _ in
        DumpBytes.map(100, contents)
      }
    }
    func depth(_ map: IntermediateDumpMap) -> Int {
      map.map(.process).map { depth($0) + 1 } ?? 0
    }
    let deepest = try IntermediateDumpDocument(parsing: DumpBytes.header + nested(16) + [0x06])
    #expect(deepest.isComplete)
    #expect(depth(deepest.root) == 16)
    let tooDeep = try IntermediateDumpDocument(parsing: DumpBytes.header + nested(17) + [0x06])
    #expect(tooDeep.damage?.offset == 32 + 16 * 3)
    #expect(tooDeep.damage?.reason == "nesting too deep")
    #expect(depth(tooDeep.root) == 16)
  }

  @Test func tenThousandLevelsCostNoStack() throws {
    for token in [0x02, 0x04] as [UInt8] {
      let bytes =
        DumpBytes.header + (0..<10_000).flatMap { _ in [token, 0x64, 0x00] as [UInt8] }
      let document = try IntermediateDumpDocument(parsing: bytes)
      #expect(!document.isComplete)
      #expect("\(IntermediateDumpTree(document))".utf8.count < 4096)
    }
  }

  @Test(
    arguments: [
      ([0x03], "the end of a map that is not open"),
      ([0x05], "the end of an array that is not open"),
      ([0x00], "an unknown token"), ([0x07], "an unknown token"),
      ([0x04, 0x90, 0x01, 0x01, 0x65, 0x00, 0x00, 0x00, 0x00, 0x00], "a property outside a map"),
      ([0x04, 0x90, 0x01, 0x04, 0x90, 0x01], "an array inside an array"),
      ([0x04, 0x90, 0x01, 0x03], "the end of a map that is not open"),
      ([0x02, 0x64, 0x00, 0x05], "the end of an array that is not open"),
      ([0x02, 0x64, 0x00, 0x06], "an end mark inside a map or array"),
      ([0x06, 0x00], "bytes after the end mark"), ([], "the file ends without an end mark"),
    ] as [([UInt8], String)])
  func damageHasItsReason(tokens: [UInt8], reason: String) throws {
    let bytes = DumpBytes.header + DumpBytes.property(900, [7]) + tokens
    let document = try IntermediateDumpDocument(parsing: bytes)
    #expect(document.damage?.reason == reason)
    #expect(document.root.unsigned(.capture) == 7)
  }

  @Test func unknownKeysAreSkippedWithAllTheyHold() throws {
    let bytes =
      DumpBytes.header
      + DumpBytes.map(9999, DumpBytes.array(9998, DumpBytes.map(9997, DumpBytes.property(1, [2]))))
      + DumpBytes.property(65535, [1, 2, 3]) + DumpBytes.property(900, [7]) + [0x06]
    let document = try IntermediateDumpDocument(parsing: bytes)
    #expect(document.isComplete)
    #expect(document.root.unsigned(.capture) == 7)
  }

  @Test func valuesOfAnotherShapeAreNil() throws {
    let bytes =
      DumpBytes.header + DumpBytes.property(101, [1, 2, 3]) + DumpBytes.property(108, [0xFF])
      + DumpBytes.property(104, [0x41, 0xFF, 0x00, 0x42]) + DumpBytes.property(107, [0xFE, 0xFF])
      + [0x06]
    let root = try IntermediateDumpDocument(parsing: bytes).root
    #expect(root.unsigned(.processID) == nil)
    #expect(root.signed(.crashTime) == -1)
    #expect(root.signed(.launchTime) == -2)
    #expect(root.text(.product) == "A\u{FFFD}")
    #expect(root.map(.processID) == nil)
    #expect(root.array(.processID).isEmpty)
    #expect(root.text(.version) == nil)
  }

  /// `LongDumpTests` in `Tests/Proofs` has more tokens than a dump may have.
  @Test func aFileOfNothingButTokensIsReadInLinearTime() throws {
    let count = 1 << 17
    var bytes = DumpBytes.header
    bytes.reserveCapacity(count * 7 + 64)
    let property = DumpBytes.property(101, [])
    for _ in 0..<count { bytes += property }
    let document = try IntermediateDumpDocument(parsing: bytes + [0x06])
    #expect(document.root.entries.count == count)
    #expect(document.damage == nil)
  }
}
