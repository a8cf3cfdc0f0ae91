import CrashTestSupport
import Minidump
import ProcessSnapshot
import Testing

/// The annotations of modules, compared with the layouts in Crashpad's `minidump_extensions.h`.
@Suite struct ModuleAnnotationTests {
  typealias Dump = HandBuiltMinidump

  @Test func areWrittenAsCrashpadWritesThem() throws {
    let dump = DumpBytes(try minidumpBytes(of: SyntheticProcess.snapshot()))
    let stream = try #require(dump.stream(0x4350_0001))
    let modules = dump.u32(stream.rva + 48)
    // Only one of the two modules has annotations: the second in the list.
    #expect(dump.u32(stream.rva + 44) == 4 + 12)
    #expect(dump.u32(modules) == 1)
    #expect(dump.u32(modules + 4) == 1)
    #expect(dump.u32(modules + 8) == 28)
    let module = dump.u32(modules + 12)
    #expect(dump.u32(module) == 1)
    let list = dump.u32(module + 8)
    #expect(dump.u32(module + 4) == 4 + 2 * 4)
    #expect(dump.u32(list) == 2)
    #expect(
      [4, 8].map { dump.utf8String(dump.u32(list + $0)) } == ["first", "zweite ✗"])
    let simple = dump.u32(module + 16)
    #expect(dump.u32(module + 12) == 4 + 2 * 8)
    #expect(dump.u32(simple) == 2)
    #expect(
      [4, 8, 12, 16].map { dump.utf8String(dump.u32(simple + $0)) } == ["a", "1", "b", "2"])
    let objects = dump.u32(module + 24)
    #expect(dump.u32(module + 20) == 4 + 2 * 12)
    #expect(dump.u32(objects) == 2)
    #expect([4, 16].map { dump.utf8String(dump.u32(objects + $0)) } == ["note", "raw"])
    #expect([8, 20].map { dump.u16(objects + $0) } == [1, 0x8001])
    #expect([10, 22].map { dump.u16(objects + $0) } == [0, 0])
    let text = dump.u32(objects + 12)
    #expect(dump.u32(text) == 4)
    #expect(dump.bytes[text + 4..<text + 8].elementsEqual("text".utf8))
    let raw = dump.u32(objects + 24)
    #expect(dump.u32(raw) == 5)
    #expect(dump.bytes[raw + 4..<raw + 9].elementsEqual([0, 255, 0, 7, 9]))
    for rva in [modules, module, list, simple, objects, text, raw] { #expect(rva % 4 == 0) }
  }

  private static func module(_ address: UInt64, name: UInt32) -> [UInt8] {
    Dump.u64(address) + Dump.u32(0x1000) + Dump.u32(0) + Dump.u32(0) + Dump.u32(name)
      + [UInt8](repeating: 0, count: 52 + 8 + 24)
  }

  /// A dump with two modules in Crashpad's format: the data of the first one follows that of the second, whose
  /// entry has the older form.
  private static func crashpadDump() -> [UInt8] {
    var dump = Dump()
    let name = dump.string("/opt/main")
    dump.stream(4, Dump.u32(2) + module(0x9000, name: name) + module(0x1000, name: name))
    let texts = ["one", "two", "key", "value"].map { dump.utf8String($0) }
    let bytes = dump.blob(Dump.u32(3) + [7, 0, 8])
    let list = dump.blob(Dump.u32(2) + Dump.u32(texts[0]) + Dump.u32(texts[1]))
    let simple = dump.blob(Dump.u32(1) + Dump.u32(texts[2]) + Dump.u32(texts[3]))
    let objects = dump.blob(
      Dump.u32(2) + Dump.u32(texts[1]) + Dump.u16(1) + Dump.u16(0) + Dump.u32(texts[3])
        + Dump.u32(texts[0]) + Dump.u16(0x8000) + Dump.u16(0) + Dump.u32(bytes))
    let whole = dump.blob(
      Dump.u32(1) + Dump.u32(12) + Dump.u32(list) + Dump.u32(0) + Dump.u32(0) + Dump.u32(28)
        + Dump.u32(objects))
    let older = dump.blob(
      Dump.u32(1) + Dump.u32(0) + Dump.u32(0) + Dump.u32(12) + Dump.u32(simple))
    let links = dump.blob(
      Dump.u32(2) + Dump.u32(0) + Dump.u32(28) + Dump.u32(whole) + Dump.u32(1) + Dump.u32(20)
        + Dump.u32(older))
    dump.stream(
      0x4350_0001,
      Dump.u32(1) + [UInt8](repeating: 0, count: 32 + 8) + Dump.u32(28) + Dump.u32(links))
    return dump.file()
  }

  @Test func areReadFromCrashpadsDumps() throws {
    let read = try MinidumpReader.snapshot(of: Self.crashpadDump())
    #expect(read.modules.map(\.address) == [0x1000, 0x9000])
    var first = ModuleAnnotations()
    first.simple = ["key": "value"]
    var second = ModuleAnnotations()
    second.list = ["one", "two"]
    second.objects = [
      .init(name: "two", type: 1, value: Array("value".utf8)),
      .init(name: "one", type: 0x8000, value: [7, 0, 8]),
    ]
    #expect(read.modules.map(\.annotations) == [first, second])
    // Annotations of modules are also annotations of the process, because a Crashpad client keeps nearly all of
    // them in modules.
    #expect(read.annotations == ["key": "value", "two": "value"])
    #expect(read.capture.isComplete)
    // After our writer has written the dump, other readers find the same annotations.
    let written = DumpBytes(try minidumpBytes(of: read)).hiding(0x504D_0003)
    let again = try MinidumpReader.snapshot(of: written)
    #expect(again.modules == read.modules && again.annotations == read.annotations)
  }

  @Test func everyCutIsSurvived() throws {
    let bytes = Self.crashpadDump()
    for count in 32..<bytes.count {
      _ = try MinidumpReader.snapshot(of: Array(bytes[..<count]))
    }
  }

  @Test func listsThatManyModulesShareDoNotMultiply() throws {
    var dump = Dump()
    let text = dump.utf8String("")
    let list = dump.blob(
      Dump.u32(20_000) + (0..<20_000).flatMap { _ in Dump.u32(text) })
    let module = dump.blob(
      Dump.u32(1) + Dump.u32(80_004) + Dump.u32(list) + [UInt8](repeating: 0, count: 16))
    let links = dump.blob(
      Dump.u32(10_000)
        + (0..<10_000).flatMap { _ in Dump.u32(0) + Dump.u32(28) + Dump.u32(module) })
    let name = dump.string("/m")
    dump.stream(4, Dump.u32(1) + Self.module(0x1000, name: name))
    dump.stream(
      0x4350_0001,
      Dump.u32(1) + [UInt8](repeating: 0, count: 40) + Dump.u32(120_004) + Dump.u32(links))
    // If each module had a separate list, there would be 200 million texts.
    let read = try MinidumpReader.snapshot(of: dump.file())
    #expect(read.modules.count == 1)
  }

  /// The priority is 20 - nice in the low byte, and the policy's rank in the next one.
  @Test(
    arguments: [
      (0, nil, nil), (0x0314, 0, 0), (0x0128, 5, -20), (0x0201, 3, 19), (0x3205_14, 1, 0),
      (0x0414, 2, 0), (0x0600, nil, nil), (0x0300, 0, nil), (31, nil, nil),
    ] as [(UInt32, UInt8?, Int32?)])
  func prioritiesAreReadAsCrashpadMeansThem(field: UInt32, policy: UInt8?, nice: Int32?) throws {
    var dump = Dump()
    dump.stream(
      3,
      Dump.u32(1) + Dump.u32(5) + [UInt8](repeating: 0, count: 8) + Dump.u32(field)
        + [UInt8](repeating: 0, count: 32))
    let thread = try #require(try MinidumpReader.snapshot(of: dump.file()).threads.first)
    #expect(thread.schedulingPolicy == policy)
    #expect(thread.niceValue == nice)
  }
}
