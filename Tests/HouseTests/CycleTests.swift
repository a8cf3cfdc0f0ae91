import Testing

/// Checks that few files of a module reach each other in a cycle.
@Suite struct CycleTests {
  /// The number of files in the longest cycle of a module; a module that is not listed has no cycle.
  ///
  /// A cycle is broken by a direction: what both files need moves to a file that both use. A number may only fall.
  private static let longest = [
    "CoreFile": 3, "CrashConverter": 7, "CrashHandler": 8, "CrashReport": 2,
    "CrashReportDatabase": 3, "CrashReportUpload": 3, "DumpInspection": 4, "HangDetection": 5,
    "IntermediateDump": 2, "Minidump": 16, "PendingDumps": 2, "Postmortem": 3,
    "PostmortemHandler": 2, "PostmortemTool": 5, "ProcessSnapshot": 13, "Stackwalk": 4,
    "SwiftRuntime": 2,
  ]

  /// The texts of each module's files, by module and path.
  private static func modules() throws -> [String: [String: String]] {
    try House.swiftFiles(in: "Sources").filter { !$0.isStub }
      .reduce(into: [:]) { $0[$1.module, default: [:]][$1.path] = $1.text }
  }

  @Test func theFilesOfAModuleReachEachOtherInNoLongerCycleThanTheTableAllows() throws {
    let modules = try Self.modules()
    #expect(modules.count > 15)
    #expect(Set(Self.longest.keys).subtracting(modules.keys) == [])
    for (module, sources) in modules {
      let cycles = SwiftReferences(sources).cycles
      #expect(cycles.filter { $0.count > Self.longest[module] ?? 0 } == [], "\(module)")
    }
  }

  @Test func aCycleOfThreeFilesIsFoundAndAChainIsNone() {
    let chain = ["A.swift": "struct A { let b: B }", "B.swift": "struct B { let c: C }"]
    let end = "struct C {}"
    #expect(SwiftReferences(chain.merging(["C.swift": end]) { $1 }).cycles == [])
    let closed = chain.merging(["C.swift": "struct C { func f() -> A? { nil } }"]) { $1 }
    #expect(SwiftReferences(closed).cycles == [["A.swift", "B.swift", "C.swift"]])
  }
}
