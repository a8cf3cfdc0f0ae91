import CrashCatalogue
import CrashTestSupport
import Foundation
import Testing

/// Objects in real crashes: the program's own list of them is the oracle.
@Suite(.serialized)
struct ObjectTests {
  /// The types of the objects that a scene printed, by their addresses.
  private static func types(_ output: String) -> [String: String] {
    var types: [String: String] = [:]
    for line in output.split(separator: "\n") {
      guard let blank = line.firstIndex(of: " "), line.hasPrefix("0x") else { continue }
      let name = String(line[line.index(after: blank)...])
      // What the runtime puts in for a context that only its file knows.
      types[String(line[..<blank])] = name.replacing(
        /\(unknown context at \$[0-9a-f]+\)\./, with: ""
      ).replacing(/\(extension in \w+\):/, with: "")
    }
    return types
  }

  /// Counts the pointers to the program's objects that are named; a wrong name is a failure.
  private struct Count {
    var named = 0
    var missed: [String] = []
    var registers = 0

    mutating func add(_ report: ObjectReport, _ types: [String: String]) throws {
      let crashed = try #require(report.threads.first { $0.crashed })
      for (register, value) in crashed.registers where types[value] != nil {
        registers += 1
        let word = report.words.first { $0.place == register }
        if word?.object?.type == nil { missed.append("\(register) \(types[value] ?? "")") }
      }
      for word in report.words {
        guard let object = word.object, let type = types[word.value] else { continue }
        let name = (object.kind == "error" ? "error " : "") + (object.type ?? "?")
        if ObjectReport.fits(name, type) {
          named += 1
        } else if object.type != nil {
          Issue.record("\(word.place) \(word.value): \(name) is \(type)")
        }
      }
    }
  }

  @Test(arguments: ObjectScene.isFull ? BuildConfiguration.allCases : BuildConfiguration.dynamic)
  func pointersInDumpsAreNamedAndNoneWrongly(_ configuration: BuildConfiguration) async throws {
    let scene = try await ObjectScene(configuration)
    var count = Count()
    // Objects that follow each other differ in form, those that are so far apart in the types in them.
    let step = ObjectScene.isFull ? 1 : 106
    for first in stride(from: 0, to: ObjectScene.isFull ? 318 : 212, by: step) {
      let (output, report) = try await scene.run("crash", first: first)
      let types = Self.types(output)
      #expect(Set(types.values).count > 200)
      try count.add(try #require(report), types)
    }
    print(
      "\(configuration): \(count.named) names, \(count.registers) registers, missed \(count.missed)"
    )
    #expect(count.registers >= 6 && count.named > count.registers)
    #expect(count.missed.count * 5 <= count.registers, "\(count.missed)")
    // With all builds and the kinds of crashes, 10,000 names.
    if ObjectScene.isFull { #expect(count.named >= 2_500) }
  }

  /// Kinds that do not die inside of a function that was called with objects have nothing to compare.
  @Test(
    .enabled("with --full") { ObjectScene.isFull }, arguments: BuildConfiguration.allCases)
  func pointersAreNamedInEveryKindOfCrash(_ configuration: BuildConfiguration) async throws {
    try await nameInEveryKind(try await ObjectScene(configuration), "\(configuration)")
  }

  /// Without the descriptions of fields and captures, types still have their names.
  @Test(.enabled("with --full") { ObjectScene.isFull })
  func aProgramWithoutReflectionMetadataHasNamesToo() async throws {
    let lab = try await BuiltProducts.shared.executableWithoutReflection("crash-lab")
    let scene = try await ObjectScene(lab: lab)
    var count = Count()
    for first in 0..<106 {
      let (output, report) = try await scene.run("crash", first: first * 2)
      let found = try #require(report)
      try count.add(found, Self.types(output))
    }
    print("without reflection: \(count.named) names, \(count.registers) registers")
    #expect(count.named > 800 && count.missed.count * 5 <= count.registers, "\(count.missed)")
    try await nameInEveryKind(scene, "without reflection")
  }

  private func nameInEveryKind(_ scene: ObjectScene, _ name: String) async throws {
    var count = Count()
    var kinds = 0
    for crash in ObjectScene.kinds {
      let kind = crash.kind
      let (output, found) = try await scene.run(crash)
      guard let report = found else {
        print("\(kind): no crash among objects")
        continue
      }
      let before = count.named
      try count.add(report, Self.types(output))
      if count.named > before { kinds += 1 } else { print("\(kind): no name") }
    }
    print(
      "\(name): \(kinds) kinds, \(count.named) names, \(count.registers) registers, missed"
        + " \(count.missed)")
    #expect(kinds >= 35)
    #expect(count.missed.count * 5 <= count.registers, "\(count.missed)")
  }

  @Test(.needs(.gdb))
  func aCoreFileHasAllOfThem() async throws {
    let scene = try await ObjectScene()
    let core = scene.directory.path + "/core"
    let child = try await ChildProcess.run(
      try #require(OutsideTool.gdb.path),
      [
        "-batch", "-nx", "-ex", "run", "-ex", "generate-core-file \(core)", "--args", scene.lab,
        "objects", "crash", "none", "0",
      ], in: scene.directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no", "DEBUGINFOD_URLS": ""])
    let types = Self.types(child.standardOutput)
    #expect(types.count > 200, "\(child.standardError)")
    let report = try await scene.show(core)
    var count = Count()
    try count.add(report, types)
    #expect(count.missed.isEmpty && count.registers > 0)
    #expect(count.named >= 12)
  }

  @Test func aPrivateReportHasNoObjectsContents() async throws {
    let scene = try await ObjectScene()
    let (_, found) = try await scene.run("crash", first: 0, ["--sanitize"])
    let report = try #require(found)
    #expect(report.words.allSatisfy { $0.object == nil })
  }
}
