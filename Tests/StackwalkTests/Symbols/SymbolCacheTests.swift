import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// A symbol cache returns the same as the files, and nothing if the files have changed.
@Suite struct SymbolCacheTests {
  private final class Store: SymbolStore {
    var files: [String: [UInt8]] = [:]
    func contents(of name: String) -> [UInt8]? { files[name] }
    func replace(_ name: String, with bytes: [UInt8]) { files[name] = bytes }
  }

  private static let addresses: [Address] = [0x10FF, 0x1100, 0x1110, 0x1118, 0x1133, 0x113F]

  /// Makes a file with a build ID and the sections of `DebugInformationTests`.
  private static func module(in directory: String, _ store: Store? = nil) throws -> (
    symbols: ModuleSymbols, module: ModuleSnapshot
  ) {
    let path = directory + "/module"
    if !FileManager.default.fileExists(atPath: path) {
      let sections = DebugInformationTests.sections(version: 5)
      let buildID: [UInt8] = [4, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 0x47, 0x4E, 0x55, 0, 1, 2, 3, 4]
      let file = HandmadeELF.bytes(
        sections: sections, note: buildID + [5, 6, 7, 8])
      try Data(file).write(to: URL(fileURLWithPath: path))
    }
    let module = ModuleSnapshot(
      address: 0x1000, size: 0x1000, path: path, buildID: [1, 2, 3, 4, 5, 6, 7, 8])
    return (try ModuleSymbols(module, store: store), module)
  }

  private func frames(
    _ made: (symbols: ModuleSymbols, module: ModuleSnapshot)
  ) -> [[DebugInformation.Frame]] {
    Self.addresses.map { made.symbols.frames(at: $0, in: made.module) }
  }

  @Test func givesWhatTheFilesGive() throws {
    let directory = try TemporaryDirectory()
    let store = Store()
    let expected = frames(try Self.module(in: directory.path))
    try #require(expected[2].count == 2)
    let first = try Self.module(in: directory.path, store)
    #expect(frames(first) == expected)
    first.symbols.saveCache()
    let file = try #require(store.files["0102030405060708.symbols"])
    let second = try Self.module(in: directory.path, store)
    #expect(frames(second) == expected)
    // The second reader added nothing, so it writes nothing.
    store.files = [:]
    second.symbols.saveCache()
    #expect(store.files.isEmpty)
    // Damage of any byte is detected.
    for index in file.indices {
      var damaged = file
      damaged[index] ^= 0x20
      store.files = ["0102030405060708.symbols": damaged]
      #expect(frames(try Self.module(in: directory.path, store)) == expected)
    }
    for count in 0..<file.count {
      store.files = ["0102030405060708.symbols": Array(file.prefix(count))]
      #expect(frames(try Self.module(in: directory.path, store)) == expected)
    }
  }

  @Test func isOfTheFilesAsTheyWere() throws {
    let directory = try TemporaryDirectory()
    let store = Store()
    let first = try Self.module(in: directory.path, store)
    _ = frames(first)
    first.symbols.saveCache()
    let path = directory.path + "/module"
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let name = Array("main.cpp".utf8)
    for index in bytes.indices.dropLast(8) where Array(bytes[index..<index + 8]) == name {
      bytes[index] = UInt8(ascii: "M")
    }
    try FileManager.default.removeItem(atPath: path)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let changed = frames(try Self.module(in: directory.path, store))
    #expect(changed[1].last?.location?.file == "/build/dir/Main.cpp")
  }
}
