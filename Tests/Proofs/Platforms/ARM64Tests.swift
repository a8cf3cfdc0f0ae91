import CrashTestSupport
import Foundation
import Testing

/// The arm64 code, checked without an arm64 machine: compiled, compared with the system's headers, and run in an
/// emulator.
@Suite(.needs(.arm64Headers), .needs(.arm64Compiler), .needs(.arm64Emulator))
struct ARM64Tests {
  private static let root = BuiltProducts.packageRoot
  private static let headers = "/usr/aarch64-linux-gnu/include"
  private let directory: SharedDirectory

  init() throws { directory = try SharedDirectory() }

  @discardableResult
  private func run(_ tool: String, _ arguments: [String]) async throws -> String {
    let child = try await ChildProcess.run(tool, arguments, in: directory.path, patience: 1200)
    let text = child.standardOutput + child.standardError
    try #require(child.end.exitCode == 0, "\(tool) \(arguments): \(child.end) \(text)")
    return text
  }

  private static func files(in folder: String, _ suffixes: String...) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: root + "/" + folder)
      .filter { name in suffixes.contains { name.hasSuffix($0) } }
      .sorted().map { "\(root)/\(folder)/\($0)" }
  }

  private static let compile = [
    "--target=aarch64-linux-gnu", "-Wall", "-Wextra", "-Werror", "-O1",
    "-I\(root)/Sources/CSignalSafe/include", "-I\(root)/Sources/CSignalMasks/include",
  ]

  @Test func allCAndAssemblyCompilesWithoutWarningsAndPmLayoutCAgreesWithTheHeaders() async throws {
    let clang = try Toolchain.path(of: "clang")
    var count = 0
    for folder in ["CSignalSafe", "CSignalMasks", "CThreadStacks", "CProcessEnds"] {
      for file in try Self.files(in: "Sources/" + folder, ".c", "aarch64.S") {
        count += 1
        let output = directory.path + "/\(count).o"
        let text = try await run(
          clang,
          Self.compile + ["-I\(Self.root)/Sources/\(folder)/include", "-c", file, "-o", output])
        #expect(text.isEmpty, "\(text)")
      }
    }
    #expect(count >= 10)
    // `HeaderTests` parses the headers as C++ for the machine that it runs on.
    let source = directory.path + "/source.cpp"
    try "#include \"CSignalSafe.h\"\n".write(toFile: source, atomically: false, encoding: .utf8)
    for standard in ["c++17", "c++20"] {
      let arguments = Self.compile + ["-std=" + standard, "-fsyntax-only", source]
      let text = try await run(clang, arguments)
      #expect(text.isEmpty, "\(text)")
    }
    // The comparison works: it fails if the header has the registers at another offset.
    let headers = directory.path + "/include"
    try FileManager.default.copyItem(
      atPath: Self.root + "/Sources/CSignalSafe/include", toPath: headers)
    let context = try String(contentsOfFile: headers + "/pm_context.h", encoding: .utf8)
    let moved = context.replacing("PM_CONTEXT_REGISTERS 184", with: "PM_CONTEXT_REGISTERS 192")
    try #require(moved != context)
    try moved.write(toFile: headers + "/pm_context.h", atomically: false, encoding: .utf8)
    let planted = try await ChildProcess.run(
      clang,
      [
        Self.compile[0], "-I" + headers, "-c", Self.root + "/Sources/CSignalSafe/pm_layout.c",
        "-o", directory.path + "/planted.o",
      ], in: directory.path)
    #expect(planted.end.exitCode == 1 && planted.standardError.contains("uc_mcontext.pc"))
  }

  /// Tests the entry through the kernel's frame, the registers in it, recovery points, stack changes and captured
  /// contexts.
  @Test func theAssemblyAndTheSignalFrameDoUnderQemuWhatTheyMust() async throws {
    let program = directory.path + "/entry"
    try await run(
      Toolchain.path(of: "clang"),
      Self.compile + ["-fuse-ld=lld", "-static", "-o", program]
        + ["\(Self.root)/Tests/Proofs/Platforms/ARM64/entry.c"]
        + Self.files(in: "Sources/CSignalSafe", ".c", "aarch64.S"))
    let text = try await run(try #require(OutsideTool.arm64Emulator.path), [program])
    #expect(text == "2336 checks, 0 failed\n", "\(text)")
  }

  /// The modules, in the order of their imports.
  ///
  /// The other modules need Dispatch or Foundation, for which the toolchain has no textual interface; they have no code
  /// for a particular architecture.
  private static let modules = [
    "IntermediateDump", "SwiftRuntime", "PendingDumps", "CrashHandler", "ProcessSnapshot",
    "DumpInspection", "Minidump", "Stackwalk", "CrashAnalysis", "CrashReport",
    "CrashReportDatabase",
    "CrashConverter",
  ]

  /// The standard library comes from the toolchain's textual interfaces for this machine.
  ///
  /// Code is checked, not generated, so function bodies that only x86_64 can compile are removed from them.
  @Test func eachSwiftModuleWithCodeForAnArchitecturePassesTheCompilersChecksForArm64() async throws
  {
    let swiftc = try Toolchain.path(of: "swiftc")
    let library =
      URL(filePath: swiftc).deletingLastPathComponent()
      .deletingLastPathComponent().path + "/lib/swift"
    try makeResources(from: library)
    for module in Self.modules {
      let text = try await check(
        module,
        try Self.files(in: "Sources/" + module, ".swift"))
      #expect(!text.contains("warning:"), "\(module): \(text)")
    }
    // A planted error in code for arm64 is found.
    let planted = directory.path + "/planted.swift"
    try "func f() {\n#if arch(arm64)\n  let text: Int = \"\"\n#endif\n}\n".write(
      toFile: planted, atomically: false, encoding: .utf8)
    await #expect(throws: (any Error).self) { try await check("Planted", [planted]) }
  }

  private func check(_ module: String, _ files: [String]) async throws -> String {
    let path = directory.path
    var arguments = [
      "-target", "aarch64-unknown-linux-gnu", "-resource-dir", path + "/resources", "-sdk",
      path + "/sdk", "-module-cache-path", path + "/cache", "-swift-version", "6",
      "-package-name", "swift_postmortem", "-strict-memory-safety", "-wmo", "-parse-as-library",
      "-module-name", module, "-emit-module", "-emit-module-path",
      "\(path)/modules/\(module).swiftmodule", "-I", path + "/modules",
    ]
    for feature in [
      "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility",
      "NonisolatedNonsendingByDefault",
    ] { arguments += ["-enable-upcoming-feature", feature] }
    for name in ["CSignalSafe", "CSwiftDemangle"] {
      arguments += ["-Xcc", "-fmodule-map-file=\(path)/\(name).modulemap"]
    }
    let child = try await ChildProcess.run(
      try Toolchain.path(of: "swiftc"), arguments + files, in: path, patience: 1200)
    guard child.end.exitCode == 0 else {
      throw OutsideToolError("\(module): \(child.end) \(child.standardError.prefix(4000))")
    }
    return child.standardOutput + child.standardError
  }

  /// Lays out the files that the compiler looks for: its resources, the system's headers, and module maps.
  private func makeResources(from library: String) throws {
    let files = FileManager.default
    func make(_ name: String) throws -> String {
      let path = directory.path + "/" + name
      try files.createDirectory(atPath: path, withIntermediateDirectories: true)
      return path
    }
    _ = try make("modules")
    let resources = try make("resources")
    for name in ["shims", "clang", "apinotes"] {
      try files.createSymbolicLink(
        atPath: resources + "/" + name, withDestinationPath: library + "/" + name)
    }
    try files.createSymbolicLink(
      atPath: make("sdk/usr") + "/include", withDestinationPath: Self.headers)
    let architecture = try make("resources/linux/aarch64")
    for name in ["SwiftGlibc.h", "glibc.modulemap"] {
      try files.copyItem(
        atPath: library + "/linux/x86_64/" + name, toPath: architecture + "/" + name)
    }
    for name in [
      "Swift", "_Concurrency", "_StringProcessing", "Synchronization", "Glibc",
      "SwiftOnoneSupport", "_Builtin_float",
    ] {
      let interface = try String(
        contentsOfFile:
          "\(library)/linux/\(name).swiftmodule/x86_64-unknown-linux-gnu.swiftinterface",
        encoding: .utf8)
      let folder = try make("resources/linux/\(name).swiftmodule")
      try interface.replacing("x86_64-unknown-linux-gnu", with: "aarch64-unknown-linux-gnu")
        // These bodies belong to Float80, which arm64 does not have.
        .replacing("self = _stdlib_remainderl(self, other)", with: "_ = other")
        .replacing("self = _stdlib_squareRootl(self)", with: "_ = self")
        .write(
          toFile: folder + "/aarch64-unknown-linux-gnu.swiftinterface", atomically: false,
          encoding: .utf8)
    }
    for name in ["CSignalSafe", "CSwiftDemangle"] {
      try "module \(name) { umbrella \"\(Self.root)/Sources/\(name)/include\" export * }\n".write(
        toFile: "\(directory.path)/\(name).modulemap", atomically: false, encoding: .utf8)
    }
  }
}
