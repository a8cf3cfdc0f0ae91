import CrashTestSupport
import Foundation
import Testing

/// Mistakes with references that are planted: the cause is named where memory tells it, and not where it does not.
@Suite("Planted mistakes with references", .serialized)
struct PlantedObjectTests {
  /// Runs of each mistake, each with other values.
  private static let runs = ObjectScene.isFull ? 250 : 2

  /// Plants a mistake in debug and release, and expects what its explanations have.
  private func expect(_ scene: String, says words: @Sendable (Int) -> [String]) async throws {
    let builds = [
      try await ObjectScene(.asTested), try await ObjectScene(.release),
    ]
    for run in 0..<Self.runs {
      let (_, found) = try await builds[run % 2].run(scene, first: run)
      let explanation = try #require(found?.explanation, "run \(run)")
      for text in words(run) { #expect(explanation.contains(text), "run \(run): \(explanation)") }
    }
  }

  @Test("A field of a freed object is told by the fill, and by the function that it met")
  func useAfterFree() async throws {
    let fills = ["77", "5a", "a5", "db", "fd", "cc"]
    try await expect("use-after-free") { run in
      let fill = fills[run % fills.count]
      let meaning = fill == "a5" ? "never written" : "freed"
      // Whether the runtime or the function itself meets the value first is the compiler's choice.
      return ["byte 0x\(fill) repeated", meaning]
    }
  }

  @Test("An unowned reference after its object names the object")
  func unowned() async throws {
    try await expect("unowned-after-free") { _ in ["outlived was a Node."] }
  }

  @Test("A retain of what is no object says so")
  func wildRetain() async throws {
    try await expect("wild-retain") { run in
      let address = 0x1234_5678_9AB0 + run * 0x7_7770
      return ["swift_retain was called on 0x\(String(address, radix: 16)), which is no object of"]
    }
  }

  @Test("A crash in a deinitializer names the object that ends")
  func inDeinitializer() async throws {
    try await expect("in-deinit") { _ in ["a Closing that is being deinitialized"] }
  }

  @Test("A property of null is told to be an optional's, or an enum's")
  func emptyOptional() async throws {
    try await expect("empty-optional") { _ in
      ["is null: an optional, or a case of an enum, that holds nothing"]
    }
  }

  @Test("A retain of an enum's case without an object says so")
  func emptyCase() async throws {
    try await expect("empty-case") { _ in
      ["swift_retain was called on 0x1,", "a case of an enum that holds no object"]
    }
  }

  /// It may live on, or die of what the allocator finds: what is not seen is not said.
  @Test("A second release names nothing that memory does not show")
  func doubleRelease() async throws {
    let scene = try await ObjectScene()
    for run in 0..<Self.runs {
      let (_, report) = try await scene.run("double-release", first: run)
      guard let report else { continue }
      let freed = report.words.filter { $0.object?.type?.hasSuffix("Node") == true }
      #expect(freed.allSatisfy { $0.object?.state != "immortal" })
      #expect(report.explanation?.contains("Node") != true, "\(report.explanation ?? "")")
    }
  }

  @Test("A crash among living objects has no word of freed ones")
  func living() async throws {
    let scene = try await ObjectScene()
    for run in 0..<Self.runs {
      let (_, found) = try await scene.run("crash", first: run * 7)
      let explanation = try #require(found?.explanation)
      for word in ["freed", "deinit", "no object", "holds nothing", "never written"] {
        #expect(!explanation.contains(word), "run \(run): \(explanation)")
      }
    }
  }
}
