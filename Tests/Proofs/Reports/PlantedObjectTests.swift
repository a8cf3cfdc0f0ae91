import CrashTestSupport
import Foundation
import Testing

/// Planted mistakes with references: the report names the cause if memory shows it, and not otherwise.
@Suite(.serialized)
struct PlantedObjectTests {
  /// The number of runs of each mistake, each with other values.
  private static let runs = ObjectScene.isFull ? 250 : 2

  /// Plants a mistake, in debug builds in even runs and in release builds in odd ones, and expects words of its
  /// explanation.
  private func expect(_ scene: String, says words: @Sendable (Int) -> [String]) async throws {
    let builds = [try await ObjectScene(.asTested), try await ObjectScene(.release)]
    for run in 0..<Self.runs {
      let (_, found) = try await builds[run % 2].run(scene, first: run)
      let explanation = try #require(found?.explanation, "run \(run)")
      for text in words(run) { #expect(explanation.contains(text), "run \(run): \(explanation)") }
    }
  }

  @Test func aFieldOfAFreedObjectIsToldByTheFillAndByTheFunctionThatItMet() async throws {
    try await expect("use-after-free") { run in
      let (fill, meaning) = Self.fills[run / 2 % Self.fills.count]
      let word = String(repeating: fill, count: 8)
      var words = ["byte 0x\(fill) repeated", meaning]
      // The runtime does not count references of a negative number, so another function crashes.
      if run % 2 == 0, let value = UInt64(word, radix: 16), Int64(bitPattern: value) > 0 {
        words.append("swift_retain was called on 0x\(word), which is not a Swift object")
      }
      return words
    }
  }

  /// The bytes that crash-lab writes over freed memory, each with a text that the report's explanation must contain.
  private static let fills = [
    ("77", "the pointer was most likely freed"), ("5a", "memory that had been freed"),
    ("a5", "never written"), ("db", "the pointer was most likely freed"),
    ("fd", "the pointer was most likely freed"), ("cc", "the pointer was most likely freed"),
  ]

  @Test func anUnownedReferenceAfterItsObjectNamesTheObject() async throws {
    try await expect("unowned-after-free") { _ in ["outlived was a Node."] }
  }

  @Test func aRetainOfWhatIsNoObjectSaysSo() async throws {
    try await expect("wild-retain") { run in
      let address = 0x1234_5678_9AB0 + run * 0x7_7770
      return [
        "swift_retain was called on 0x\(String(address, radix: 16)), which is not a Swift object"
      ]
    }
  }

  @Test func aCrashInADeinitializerNamesTheObjectThatEnds() async throws {
    try await expect("in-deinit") { _ in ["a Closing that is being deinitialized"] }
  }

  @Test func aPropertyOfNullIsToldToBeAnOptionalsOrAnEnums() async throws {
    try await expect("empty-optional") { _ in
      ["is null: an optional, or a case of an enum, that holds nothing"]
    }
  }

  @Test func aRetainOfAnEnumsCaseWithoutAnObjectSaysSo() async throws {
    try await expect("empty-case") { _ in
      ["swift_retain was called on 0x1,", "a case of an enum that holds no object"]
    }
  }

  /// In about half of the processes, the word that the allocator left looks like a reference count, and the
  /// process does not crash.
  ///
  /// More processes run, until as many have crashed as there are runs of the other mistakes.
  ///
  /// These crash in the runtime, whose registers have the object's address.
  @Test func aReleaseTooManyIsToldByWhatTheAllocatorHasLeftInTheObject() async throws {
    let scene = try await ObjectScene()
    var crashes = 0
    for run in 0..<(Self.runs * 16) where crashes < Self.runs {
      let (_, report) = try await scene.run("double-release", first: run)
      guard let report else { continue }
      crashes += 1
      let freed = report.words.filter { $0.object?.type?.hasSuffix("Node") == true }
      #expect(freed.allSatisfy { $0.object?.state != "immortal" })
      let explanation = report.explanation ?? ""
      #expect(!explanation.contains("Node"), "\(explanation)")
      #expect(
        explanation.contains("whose memory had been freed: it was most likely released too often"),
        "run \(run): \(explanation) \(report.message ?? "")")
    }
    #expect(crashes == Self.runs)
  }

  @Test func aCrashAmongLivingObjectsHasNoWordOfFreedOnes() async throws {
    let scene = try await ObjectScene()
    for run in 0..<Self.runs {
      let (_, found) = try await scene.run("crash", first: run * 7)
      let explanation = try #require(found?.explanation)
      for word in ["freed", "deinit", "not a Swift object", "holds nothing", "never written"] {
        #expect(!explanation.contains(word), "run \(run): \(explanation)")
      }
    }
  }
}
