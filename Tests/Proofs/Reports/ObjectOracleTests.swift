import CrashCatalogue
import CrashTestSupport
import Foundation
import Testing

/// Compares the objects in reports of real crashes with those that the toolchain's LLDB finds by itself.
@Suite(
  .serialized,
  .enabled("with --full") { ObjectScene.isFull })
struct ObjectOracleTests {
  /// The number of names that are compared with LLDB's; a name that differs is a failure.
  private struct Count {
    var named = 0
    var registers = 0
    var namedRegisters = 0

    mutating func add(_ report: ObjectReport, _ types: [String: String]) {
      guard let crashed = report.threads.first(where: { $0.crashed }) else { return }
      for (register, value) in crashed.registers where types[value] != nil {
        registers += 1
        let word = report.words.first { $0.place == register }
        if word?.object?.type != nil { namedRegisters += 1 }
      }
      for word in report.words {
        guard let name = word.object?.type, let type = types[word.value] else { continue }
        if ObjectReport.fits(Self.plain(name), Self.plain(type)) {
          named += 1
        } else {
          Issue.record("\(word.place) \(word.value): \(name) is \(type) for LLDB")
        }
      }
    }

    /// Removes the parts of a name that LLDB writes differently from the runtime.
    ///
    /// LLDB leaves out modules of local types, and an enum without arguments around a generic one. It marks
    /// class-constrained protocols, and does not distinguish the two metatypes of a protocol.
    private static func plain(_ name: String) -> String {
      name.replacing(
        /\b(CrashLab|Swift|__C|_Concurrency|Foundation|FoundationEssentials)\./, with: ""
      )
      .replacing("@thin ", with: "").replacing("any ", with: "").replacing(" & AnyObject", with: "")
      .replacing(".State.", with: ".").replacing(".Protocol", with: ".Type")
    }
  }

  private func view(
    _ scene: ObjectScene, _ arguments: [String], _ database: String
  ) async throws -> (SwiftLLDB.View, ObjectReport?) {
    let place = scene.directory.path + "/lldb-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    let view = try await SwiftLLDB.view(of: scene.lab, arguments, in: place)
    _ = try await ChildProcess.run(scene.tool, ["process", database], in: place)
    return (view, try? await scene.show(database))
  }

  @Test(arguments: BuildConfiguration.allCases)
  func typesOfOurOwnHaveTheNamesThatLLDBHas(_ configuration: BuildConfiguration) async throws {
    #expect(await SwiftLLDB.obstacle() == nil)
    let scene = try await ObjectScene(configuration)
    var count = Count()
    for first in stride(from: 0, to: 212, by: 53) {
      let database = scene.directory.path + "/db-\(first)"
      let (view, report) = try await view(
        scene, ["objects", "crash", database, "\(first)"], database)
      // In a statically linked program, LLDB names a dozen.
      #expect(view.types.count >= 8, "\(view.transcript.suffix(2000))")
      count.add(try #require(report, "\(view.transcript.suffix(2000))"), view.types)
    }
    print("\(configuration) with LLDB: \(count)")
    #expect(count.named >= 30)
    #expect(count.namedRegisters * 5 >= count.registers * 4)
  }

  /// Kinds that do not crash under a debugger, or whose crashing threads cannot run LLDB's code.
  ///
  /// A signal that was sent interrupts wait4(2). If LLDB then runs code on that thread, the kernel restarts the system
  /// call, and LLDB's code reads 0x10.
  private static let incomparable: Set = [
    "alloca", "full-stack-signal", "huge-frame", "misaligned", "pipe", "sent-abort", "sent-quit",
    "sent-segv",
    "stack-overflow",
  ]

  @Test func objectsOfEveryKindOfCrashHaveTheNamesThatLLDBHas() async throws {
    #expect(await SwiftLLDB.obstacle() == nil)
    let scene = try await ObjectScene(.asTested)
    var count = Count()
    for crash in ObjectScene.kinds where !Self.incomparable.contains(crash.kind) {
      let kind = crash.kind
      let database = scene.directory.path + "/kind-\(kind)"
      let (view, report) = try await view(scene, ObjectScene.words(crash, database), database)
      #expect(!view.types.isEmpty, "\(kind): \(view.transcript.suffix(2000))")
      count.add(try #require(report, "\(kind): \(view.transcript.suffix(2000))"), view.types)
    }
    print("kinds with LLDB: \(count)")
    #expect(count.registers >= 30)
    #expect(count.namedRegisters * 5 >= count.registers * 4)
  }
}
