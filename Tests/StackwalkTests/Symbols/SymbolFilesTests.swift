import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// A stripped module, and its debug file in every directory in which it is searched for.
@Suite(.needs(.objcopy))
struct SymbolFilesTests {
  /// crash-lab, and what its symbols say about an address.
  private struct Product: Sendable {
    let module: ModuleSnapshot
    /// An address in a function with lines.
    let address: Address
    let expected: [DebugInformation.Frame]

    static let shared = Task { try await Product() }

    init() async throws {
      let path = try await BuiltProducts.shared.executable("crash-lab", .asTested)
      let elf = try ELFFile(path: path)
      module = ModuleSnapshot(
        address: elf.firstAddress ?? 0, size: 1 << 30, path: path, buildID: elf.buildID)
      let symbols = try ModuleSymbols(module)
      let table = SymbolTable(of: elf)
      let function = try #require(
        table.entries.first { table.name(of: $0, in: elf) == "$s8CrashLab15crash_null_readyyF" })
      address = function.address &+ 4
      expected = symbols.frames(at: address, in: module)
      try #require(expected.first?.location?.line != nil)
    }
  }

  private final class Scene {
    let directory: TemporaryDirectory
    let module: ModuleSnapshot
    let address: Address
    let expected: [DebugInformation.Frame]

    /// Strips crash-lab, and places its debug information in a file at `debug`, relative to the directory.
    init(debug: String, link: Bool) async throws {
      let directory = try TemporaryDirectory()
      let product = try await Product.shared.value
      let original = product.module.path
      let digits = product.module.buildID.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        .joined()
      let debugPath =
        directory.path + "/"
        + debug.replacingOccurrences(of: "XX", with: String(digits.prefix(2)))
        .replacingOccurrences(of: "YY", with: String(digits.dropFirst(2)))
      try FileManager.default.createDirectory(
        atPath: URL(fileURLWithPath: debugPath).deletingLastPathComponent().path,
        withIntermediateDirectories: true)
      let stripped = directory.path + "/crash-lab"
      let tool = try #require(OutsideTool.objcopy.path)
      var runs = [
        ["--only-keep-debug", original, debugPath], ["--strip-all", original, stripped],
      ]
      if link { runs.append(["--add-gnu-debuglink=\(debugPath)", stripped]) }
      for run in runs {
        let child = try await ChildProcess.run(tool, run, in: directory.path)
        try #require(child.end.exitCode == 0, "\(child.standardError)")
      }
      var module = product.module
      module.path = stripped
      self.module = module
      address = product.address
      expected = product.expected
      self.directory = directory
    }
  }

  @Test(
    arguments: [
      ("crash-lab.debug", true, nil), (".debug/crash-lab.debug", true, nil),
      ("given/.build-id/XX/YY.debug", false, "given"), ("given/XX/YY.debug", false, "given"),
      ("given/crash-lab.debug", false, "given"), ("given/crash-lab", false, "given"),
      ("given/1.4-release", false, "given"),
    ] as [(String, Bool, String?)])
  func foundByGnuDebuglinkAndByBuildID(debug: String, link: Bool, given: String?) async throws {
    let scene = try await Scene(debug: debug, link: link)
    let bare = try ModuleSymbols(scene.module, directories: [])
    if !link { #expect(bare.frames(at: scene.address, in: scene.module) == []) }
    let directories = given.map { ["\(scene.directory.path)/\($0)"] } ?? []
    let symbols = try ModuleSymbols(scene.module, directories: SymbolDirectories(directories))
    #expect(symbols.frames(at: scene.address, in: scene.module) == scene.expected)
    #expect(symbols.notes == [])
    #expect(symbols.code(at: scene.address, count: 4, in: scene.module) != nil)
  }

  @Test func aReplacedModuleItsNamesComeFromTheDebugFileAndItIsSaid() async throws {
    let scene = try await Scene(debug: "given/crash-lab.debug", link: false)
    let path = scene.directory.path + "/crash-lab"
    try Data(ELFFileTests.handmade).write(to: URL(fileURLWithPath: path))
    let directories = [scene.directory.path + "/given"]
    let symbols = try ModuleSymbols(scene.module, directories: SymbolDirectories(directories))
    #expect(symbols.frames(at: scene.address, in: scene.module) == scene.expected)
    #expect(symbols.notes.first?.contains("not the same build") == true)
    // The debug file has no code, and the code of the other build is not used.
    #expect(symbols.code(at: scene.address, count: 4, in: scene.module) == nil)
    let error = #expect(throws: StackwalkError.self) { _ = try ModuleSymbols(scene.module) }
    #expect(error?.code == .notTheSameBuild)
  }

  @Test(arguments: [
    ("crash-lab", "crash-lab.debug"), ("1.4", "1.5-debug"), ("1.5", "1.4-debug"),
    ("copy", ".build-id/XX/YY.debug"),
  ])
  func aModuleThatIsGoneCodeAndUnwindTablesComeFromItsCopyNamesFromItsDebugFile(
    copy: String, debug: String
  ) async throws {
    let scene = try await Scene(debug: "given/\(debug)", link: false)
    let given = scene.directory.path + "/given"
    try FileManager.default.moveItem(atPath: scene.module.path, toPath: "\(given)/\(copy)")
    let symbols = try ModuleSymbols(scene.module, directories: [given])
    #expect(symbols.frames(at: scene.address, in: scene.module) == scene.expected)
    #expect(symbols.code(at: scene.address, count: 4, in: scene.module) != nil)
    #expect(symbols.cfiRow(at: scene.address, in: scene.module, registerCount: 17) != nil)
  }

  @Test func aDebugFileOfAnotherBuildIsNotUsedAndItIsSaid() async throws {
    let scene = try await Scene(debug: "crash-lab.debug", link: true)
    let debug = scene.directory.path + "/crash-lab.debug"
    try Data(ELFFileTests.handmade).write(to: URL(fileURLWithPath: debug))
    let symbols = try ModuleSymbols(scene.module)
    #expect(symbols.frames(at: scene.address, in: scene.module) == [])
    #expect(symbols.notes == ["the debug file \(debug) is not of the same build"])
  }
}
