import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

@testable import Stackwalk

@Suite struct ELFFileTests {
  /// An ELF file written by hand: one executable segment at 0x1000, a build ID, and two functions.
  static let handmade: [UInt8] = {
    func words(_ values: UInt64...) -> [UInt8] { values.flatMap { littleEndian($0, 8) } }
    var file: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0] + [UInt8](repeating: 0, count: 8)
    file += littleEndian(3, 2) + littleEndian(62, 2) + littleEndian(1, 4)
    // e_entry, e_phoff 64, e_shoff 512, flags, ehsize, phentsize 56, phnum 2, shentsize 64, shnum 3.
    file +=
      words(0x1000, 64, 512) + littleEndian(0, 4) + littleEndian(64, 2) + littleEndian(56, 2)
      + littleEndian(2, 2)
    file += littleEndian(64, 2) + littleEndian(3, 2) + littleEndian(0, 2)
    // PT_LOAD, R+X, offset 0, vaddr 0x1000, size 0x400.
    file += littleEndian(1, 4) + littleEndian(5, 4) + words(0, 0x1000, 0x1000, 0x400, 0x400, 0x1000)
    // PT_NOTE at offset 192, 20 bytes.
    file += littleEndian(4, 4) + littleEndian(4, 4) + words(192, 0x10C0, 0x10C0, 20, 20, 4)
    file += [UInt8](repeating: 0, count: 192 - file.count)
    file +=
      littleEndian(4, 4) + littleEndian(4, 4) + littleEndian(3, 4) + [
        0x47, 0x4E, 0x55, 0, 0xAA, 0xBB, 0xCC, 0xDD,
      ]
    file += [UInt8](repeating: 0, count: 256 - file.count)
    // Symbols at offset 256: the null symbol; "first" at 0x1100, 16 bytes, global; "other" at 0x1120, of unknown
    // size.
    file += [UInt8](repeating: 0, count: 24)
    file += littleEndian(1, 4) + [0x12, 0] + littleEndian(1, 2) + words(0x1100, 16)
    file += littleEndian(7, 4) + [0x12, 0] + littleEndian(1, 2) + words(0x1120, 0)
    file += [UInt8](repeating: 0, count: 400 - file.count)
    file += [0] + Array("first".utf8) + [0] + Array("other".utf8) + [0]
    file += [UInt8](repeating: 0, count: 512 - file.count)
    func section(_ type: UInt64, offset: UInt64, size: UInt64, link: UInt64, entry: UInt64)
      -> [UInt8]
    {
      littleEndian(0, 4) + littleEndian(type, 4) + words(0, 0, offset, size) + littleEndian(link, 4)
        + littleEndian(0, 4)
        + words(8, entry)
    }
    file += section(0, offset: 0, size: 0, link: 0, entry: 0)
    file += section(2, offset: 256, size: 72, link: 2, entry: 24)
    file += section(3, offset: 400, size: 13, link: 0, entry: 0)
    file += [UInt8](repeating: 0, count: 1024 - file.count)
    return file
  }()

  private final class Directory {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "stackwalk-\(UUID().uuidString)")
    init() throws {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(at: url) }
    func write(_ bytes: [UInt8]) throws -> String {
      let file = url.appendingPathComponent("module")
      try Data(bytes).write(to: file)
      return file.path
    }
  }

  private func module(_ path: String) -> ModuleSnapshot {
    ModuleSnapshot(address: 0x70_0000, size: 0x1000, path: path, buildID: [0xAA, 0xBB, 0xCC, 0xDD])
  }

  @Test func namesFunctionsOfAFileWrittenByHand() throws {
    let directory = try Directory()
    let module = module(try directory.write(Self.handmade))
    let symbols = try ModuleSymbols(module)
    #expect(symbols.isVerified)
    let first = try #require(symbols.function(at: 0x70_0105, in: module))
    #expect(first.name == "first")
    #expect(first.start == 0x70_0100)
    #expect(symbols.function(at: 0x70_0110, in: module) == nil)
    #expect(symbols.function(at: 0x70_00FF, in: module) == nil)
    // A function without a size extends to the end of its segment.
    #expect(symbols.function(at: 0x70_03FF, in: module)?.name == "other")
    #expect(symbols.function(at: 0x70_0400, in: module) == nil)
    #expect(symbols.code(at: 0x70_0000, count: 4, in: module) == [0x7F, 0x45, 0x4C, 0x46])
    #expect(symbols.code(at: 0x70_03FE, count: 4, in: module) == nil)
  }

  @Test func refusesAnotherBuild() throws {
    let directory = try Directory()
    var module = module(try directory.write(Self.handmade))
    module.buildID[0] = 0
    let error = #expect(throws: StackwalkError.self) { _ = try ModuleSymbols(module) }
    #expect(error?.code == .notTheSameBuild)
    // Without a build ID in the dump, the file may be of the same build.
    module.buildID = []
    let unknown = #expect(throws: StackwalkError.self) { _ = try ModuleSymbols(module) }
    #expect(unknown?.code == .unknownBuild)
  }

  @Test func readsAnyBytes() throws {
    let directory = try Directory()
    for cut in stride(from: 0, to: Self.handmade.count, by: 5) {
      use(module(try directory.write(Array(Self.handmade[..<cut]))))
    }
    for offset in 0..<(512 + 192) {
      for value: UInt8 in offset % 4 == 3 ? [0xFF, 0x7F, 0] : [0xFF] {
        var bytes = Self.handmade
        bytes[offset] = value
        use(module(try directory.write(bytes)))
      }
    }
  }

  /// Calls everything that reads the file; the results are not compared, but reading must not trap.
  private func use(_ module: ModuleSnapshot) {
    guard let symbols = try? ModuleSymbols(module) else { return }
    for address: Address in [0, 0x70_0000, 0x70_0105, 0x70_0500, .highest] {
      _ = symbols.function(at: address, in: module)
      _ = symbols.functionStart(of: address, in: module)
      _ = symbols.code(at: address, count: 16, in: module)
    }
  }

  @Test(arguments: ["/dev/null", "/", "/nonexistent/module", "/proc/self/maps"])
  func refusesWhatIsNoModule(_ path: String) {
    #expect(throws: StackwalkError.self) { _ = try ELFFile(path: path) }
  }

  @Test func readsFunctionStartsOfAStrippedLibrary() throws {
    // The process has loaded some libc. The test reads the mappings again if its line is missing: other tests map
    // and unmap memory, and the kernel continues after each part of the file at an address, so one reading can
    // skip a line.
    var line: Substring?
    for _ in 0..<100 where line == nil {
      let maps = try KernelFile.text("/proc/self/maps")
      line = maps.split(separator: "\n").first { $0.hasSuffix("/libc.so.6") }
    }
    let path = String(try #require(line?.split(separator: " ").last))
    let elf = try ELFFile(path: path)
    let table = SymbolTable(of: elf)
    let module = ModuleSnapshot(address: 0, size: 0, path: path, buildID: elf.buildID)
    let frames = CFITable(of: try SymbolFiles(of: module, directories: []))
    let abort = try #require(table.entries.first { table.name(of: $0, in: elf) == "abort" })
    #expect(frames.functionStart(of: abort.address &+ 10) == abort.address)
  }

  @Test func demangles() {
    #expect(Demangler.demangle("$s4main3fooyySiF") == "main.foo(Swift.Int) -> ()")
    #expect(Demangler.demangle("_ZN3foo3barEi") == "foo::bar(int)")
    #expect(Demangler.demangle("abort") == nil)
    #expect(Demangler.demangle("_Z") == nil)
  }
}
