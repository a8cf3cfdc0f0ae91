import CrashTestSupport
import Foundation
import Testing

/// Objects in real crashes: the program's own list of them is the oracle.
@Suite(.serialized)
struct ObjectTests {
  private struct Report: Decodable {
    struct Word: Decodable {
      struct Object: Decodable {
        let kind: String
        let type: String?
        let state: String
      }
      let place: String
      let value: String
      let pattern: String?
      let object: Object?
    }
    struct Thread: Decodable {
      let crashed: Bool
      let registers: [String: String]
    }
    let explanation: String?
    let message: String?
    let words: [Word]
    let threads: [Thread]
  }

  /// crash-lab in a directory of its own, with the tool beside it.
  private struct Scene {
    let directory: SharedDirectory
    let lab: String
    let tool: String

    init(_ configuration: BuildConfiguration = .asTested) async throws {
      directory = try SharedDirectory()
      lab = try await BuiltProducts.shared.executable("crash-lab", configuration)
      tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    }

    /// Runs a scene with the handler; returns its output and the report.
    func run(
      _ name: String, first: Int = 0, _ options: [String] = []
    ) async throws -> (output: String, report: Report?) {
      let database = "\(directory.path)/db-\(name)-\(first)-\(UUID().uuidString)"
      let child = try await ChildProcess.run(
        lab, ["objects", name, database, "\(first)"], in: directory.path,
        environment: ["SWIFT_BACKTRACE": "enable=no"])
      guard child.end.signal != nil else { return (child.standardOutput, nil) }
      _ = try await ChildProcess.run(tool, ["process", database] + options, in: directory.path)
      return (child.standardOutput, try await show(database))
    }

    func show(_ path: String) async throws -> Report {
      let json = try await ChildProcess.run(
        tool, ["show", path, "--json", "--no-cache"], in: directory.path)
      try #require(json.end.exitCode == 0, "\(json.standardError)")
      return try JSONDecoder().decode(Report.self, from: Data(json.standardOutput.utf8))
    }
  }

  /// The types of the objects that a scene printed, by their addresses.
  private static func types(_ output: String) -> [String: String] {
    var types: [String: String] = [:]
    for line in output.split(separator: "\n") {
      guard let blank = line.firstIndex(of: " "), line.hasPrefix("0x") else { continue }
      let name = String(line[line.index(after: blank)...])
      // What the runtime puts in for a context that only its file knows.
      types[String(line[..<blank])] = name.replacing(
        /\(unknown context at \$[0-9a-f]+\)\./, with: "")
    }
    return types
  }

  /// Counts the pointers to the program's objects that are named; a wrong name is a failure.
  private struct Count {
    var named = 0
    var missed: [String] = []
    var registers = 0

    mutating func add(_ report: Report, _ types: [String: String]) throws {
      let crashed = try #require(report.threads.first { $0.crashed })
      for (register, value) in crashed.registers where types[value] != nil {
        registers += 1
        let word = report.words.first { $0.place == register }
        if word?.object?.type == nil { missed.append("\(register) \(types[value] ?? "")") }
      }
      for word in report.words {
        guard let object = word.object, let type = types[word.value] else { continue }
        let name = (object.kind == "error" ? "error " : "") + (object.type ?? "?")
        if Self.fits(name, type) {
          named += 1
        } else if object.type != nil {
          Issue.record("\(word.place) \(word.value): \(name) is \(type)")
        }
      }
    }

    /// True for the name itself, and for one with "_" in the place of an argument that is not in the dump.
    private static func fits(_ name: String, _ type: String) -> Bool {
      if name == type { return true }
      let parts = name.split(separator: "_", omittingEmptySubsequences: false)
      var rest = type[...]
      for (index, part) in parts.enumerated() {
        if index == 0 {
          guard rest.hasPrefix(part) else { return false }
          rest = rest.dropFirst(part.count)
        } else if index == parts.count - 1 {
          return rest.hasSuffix(part)
        } else {
          guard let range = rest.firstRange(of: part) else { return false }
          rest = rest[range.upperBound...]
        }
      }
      return false
    }
  }

  @Test(arguments: BuildConfiguration.dynamic)
  func pointersInDumpsAreNamedAndNoneWrongly(_ configuration: BuildConfiguration) async throws {
    let scene = try await Scene(configuration)
    var count = Count()
    for first in stride(from: 0, to: 78, by: 13) {
      let (output, report) = try await scene.run("crash", first: first)
      let types = Self.types(output)
      #expect(types.count > 70)
      try count.add(try #require(report), types)
    }
    print(
      "\(configuration): \(count.named) names, \(count.registers) registers, missed \(count.missed)"
    )
    #expect(count.registers >= 6 && count.named > count.registers)
    #expect(count.missed.count * 5 <= count.registers, "\(count.missed)")
  }

  @Test(.needs(.gdb))
  func aCoreFileHasAllOfThem() async throws {
    let scene = try await Scene()
    let core = scene.directory.path + "/core"
    let child = try await ChildProcess.run(
      try #require(OutsideTool.gdb.path),
      [
        "-batch", "-nx", "-ex", "run", "-ex", "generate-core-file \(core)", "--args", scene.lab,
        "objects", "crash", "none", "0",
      ], in: scene.directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no", "DEBUGINFOD_URLS": ""])
    let types = Self.types(child.standardOutput)
    #expect(types.count > 70, "\(child.standardError)")
    var count = Count()
    try count.add(try await scene.show(core), types)
    #expect(count.missed.isEmpty && count.registers > 0)
    #expect(count.named >= 12)
  }

  @Test func aPrivateReportHasNoObjectsContents() async throws {
    let scene = try await Scene()
    let (_, found) = try await scene.run("crash", first: 0, ["--sanitize"])
    let report = try #require(found)
    #expect(report.words.allSatisfy { $0.object == nil })
  }

  @Test func aFieldOfAFreedObjectIsToldByTheFillAndByTheFunctionThatItMet() async throws {
    let scene = try await Scene()
    let (_, report) = try await scene.run("use-after-free")
    let explanation = try #require(report?.explanation)
    #expect(explanation.contains("byte 0x77 repeated"), "\(explanation)")
    #expect(explanation.contains("most likely freed"), "\(explanation)")
    #expect(explanation.contains("swift_retain was called on 0x7777777777777777"), "\(explanation)")
  }

  @Test func anUnownedReferenceAfterItsObjectNamesTheObject() async throws {
    let (_, report) = try await Scene().run("unowned-after-free")
    let explanation = try #require(report?.explanation)
    #expect(explanation.contains("outlived was a Node."), "\(explanation) \(report?.message ?? "")")
  }

  @Test func aRetainOfWhatIsNoObjectSaysSo() async throws {
    let (_, report) = try await Scene().run("wild-retain")
    let explanation = try #require(report?.explanation)
    #expect(
      explanation.contains(
        "swift_retain was called on 0x123456789ab0, which is no object of Swift"),
      "\(explanation)")
  }

  @Test func aCrashInADeinitializerNamesTheObjectThatEnds() async throws {
    let (_, report) = try await Scene().run("in-deinit")
    let explanation = try #require(report?.explanation)
    #expect(explanation.contains("a Closing that is being deinitialized"), "\(explanation)")
  }

  /// It may live on, or die of what the allocator finds: what is not seen is not said.
  @Test func aSecondReleaseNamesNothingThatMemoryDoesNotShow() async throws {
    let (_, report) = try await Scene().run("double-release")
    guard let report else { return }
    let freed = report.words.filter { $0.object?.type?.hasSuffix("Node") == true }
    #expect(freed.allSatisfy { $0.object?.state != "immortal" })
  }
}
