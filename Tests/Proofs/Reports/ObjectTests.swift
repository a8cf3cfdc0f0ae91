import CrashCatalogue
import CrashTestSupport
import Foundation
import Testing

/// Compares the objects in reports of real crashes with the program's own list of them.
@Suite(.serialized)
struct ObjectTests {
  /// The types of the objects that a scene printed, by their addresses.
  private static func types(_ output: String) -> [String: String] {
    var types: [String: String] = [:]
    for line in output.split(separator: "\n") {
      guard let blank = line.firstIndex(of: " "), line.hasPrefix("0x") else { continue }
      let name = String(line[line.index(after: blank)...])
      // The runtime writes this for a context that it knows only by the file.
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

  @Test(arguments: BuildConfiguration.dynamic)
  func pointersInDumpsAreNamedAndNoneWrongly(_ configuration: BuildConfiguration) async throws {
    // Neighboring objects differ in form; objects that are this far apart differ in the types that they contain.
    let count = try await nameObjects(
      configuration, from: [0, 106], converting: [], atLeast: .max)
    #expect(count.missed.count * 5 <= count.registers, "\(count.missed)")
  }

  /// Over all builds together, four in five pointers in registers are named.
  ///
  /// In the smallest dumps, those of a static release build, the 2% of a dump that are reserved for objects are
  /// less than 600 bytes, so the share is smaller there.
  @Test(.enabled("with --full") { ObjectScene.isFull })
  func of10_000NamesInFourBuildsNoneIsWrong() async throws {
    var (names, registers, missed) = (0, 0, 0)
    for configuration in BuildConfiguration.allCases {
      // First all objects, then the same with other neighbors, until there are enough names.
      let count = try await nameObjects(
        configuration, from: Array(0..<1_000), converting: nil, atLeast: 2_500)
      names += count.named
      registers += count.registers
      missed += count.missed.count
      #expect(count.missed.count * 4 <= count.registers, "\(count.missed)")
    }
    print("all builds: \(names) names, none wrong; \(registers) registers, missed \(missed)")
    #expect(names >= 10_000)
    #expect(missed * 5 <= registers)
  }

  /// Crashes the program until enough names were compared.
  ///
  /// - Parameters:
  ///   - starts: for each crash, the index of the first object that it uses.
  ///   - options: the options of the conversion; nil to show the dump itself.
  private func nameObjects(
    _ configuration: BuildConfiguration, from starts: [Int], converting options: [String]?,
    atLeast enough: Int
  ) async throws -> Count {
    let scene = try await ObjectScene(configuration)
    var count = Count()
    for first in starts where first < 212 || count.named < enough {
      let (output, report) = try await scene.run("crash", first: first, options)
      let types = Self.types(output)
      #expect(Set(types.values).count > 200)
      try count.add(try #require(report), types)
    }
    print(
      "\(configuration): \(count.named) names, \(count.registers) registers, missed \(count.missed)"
    )
    #expect(count.registers >= 6 && count.named > count.registers)
    return count
  }

  /// The elements that a report shows of a collection are those over which the program iterates first.
  @Test(arguments: BuildConfiguration.dynamic)
  func collectionsShowWhatTheProgramPutIntoThem(_ configuration: BuildConfiguration) async throws {
    let scene = try await ObjectScene(configuration)
    var (known, whole) = (0, 0)
    for first in ObjectScene.isFull ? Array(0..<40) : [2] {
      let (output, found) = try await scene.run("collections", first: first)
      var held: [String: [String]] = [:]
      for line in output.split(separator: "\n") {
        guard let blank = line.firstIndex(of: " "), line.hasPrefix("0x") else { continue }
        held[String(line[..<blank])] = line[line.index(after: blank)...]
          .components(separatedBy: ", ")
      }
      for word in try #require(found).words {
        guard let object = word.object, let elements = held[word.value] else { continue }
        #expect(object.size == elements.count)
        #expect(object.elements.isEmpty || object.elements.count == min(4, elements.count))
        for (shown, element) in zip(object.elements, elements) {
          // A long text is cut after 24 bytes.
          let pattern = shown.replacing("\"...", with: "_")
          #expect(ObjectReport.fits(pattern, element), "\(first): \(shown) is \(element)")
          known += 1
          if !shown.contains("_") { whole += 1 }
        }
      }
    }
    print("\(configuration): \(known) elements, \(whole) of them known to the end, none wrong")
    #expect(known >= 6 && whole * 2 >= known)
  }

  /// A kind that does not crash inside a function that was called with objects has nothing to compare.
  @Test(
    .enabled("with --full") { ObjectScene.isFull }, arguments: BuildConfiguration.allCases)
  func pointersAreNamedInEveryKindOfCrash(_ configuration: BuildConfiguration) async throws {
    try await nameInEveryKind(try await ObjectScene(configuration), "\(configuration)")
  }

  /// Types keep their names without the descriptions of fields and captures.
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

  /// Secrets are removed by the handler, or by the conversion of a full dump.
  @Test(arguments: ["sanitized", "full"])
  func aSanitizedReportHasTheTypesOfObjectsAndNoContents(_ ofHandler: String) async throws {
    let scene = try await ObjectScene()
    let kind = try #require(ObjectScene.kinds.first { $0.kind == "null-read" })
    let isByHandler = ofHandler == "sanitized"
    let (output, found) = try await scene.run(
      kind, isByHandler ? ["--privacy", ofHandler] : [],
      converting: isByHandler ? [] : ["--sanitize"])
    let report = try #require(found)
    var count = Count()
    try count.add(report, Self.types(output))
    #expect(count.registers >= 3 && count.named > count.registers, "\(report.words)")
    #expect(count.missed.isEmpty, "\(count.missed)")
    let objects = report.words.compactMap(\.object)
    #expect(objects.contains { $0.state == "alive" })
    for object in objects {
      #expect(object.size == nil && object.text == nil && object.bytes == nil)
      #expect(object.elements.isEmpty)
    }
  }

  @Test func aReportWithoutMemoryNamesNoObject() async throws {
    let scene = try await ObjectScene()
    let (_, found) = try await scene.run("crash", first: 0, ["--no-memory"])
    #expect(try #require(found).words.allSatisfy { $0.object == nil })
  }
}
