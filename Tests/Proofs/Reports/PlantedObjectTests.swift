import CrashTestSupport
import Foundation
import Testing

/// Mistakes with references that are planted: the cause is named where memory tells it, and not where it does not.
@Suite("Planted mistakes with references", .serialized)
struct PlantedObjectTests {
  /// Runs of each mistake, each with other values.
  private static let runs = ObjectScene.isFull ? 250 : 2

  /// Plants a mistake, in even runs in debug and in odd ones in release, and expects what its explanations have.
  private func expect(_ scene: String, says words: @Sendable (Int) -> [String]) async throws {
    let builds = [try await ObjectScene(.asTested), try await ObjectScene(.release)]
    for run in 0..<Self.runs {
      let (_, found) = try await builds[run % 2].run(scene, first: run)
      let explanation = try #require(found?.explanation, "run \(run)")
      for text in words(run) { #expect(explanation.contains(text), "run \(run): \(explanation)") }
    }
  }

  @Test("A field of a freed object is told by the fill, and by the function that it met")
  func useAfterFree() async throws {
    try await expect("use-after-free") { run in
      let (fill, meaning) = Self.fills[run / 2 % Self.fills.count]
      let word = String(repeating: fill, count: 8)
      var words = ["byte 0x\(fill) repeated", meaning]
      // The runtime counts no references of a number that is negative, so that another function meets it.
      if run % 2 == 0, let value = UInt64(word, radix: 16), Int64(bitPattern: value) > 0 {
        words.append("swift_retain was called on 0x\(word), which is no object of Swift")
      }
      return words
    }
  }

  /// The bytes that crash-lab writes over freed memory, and what an explanation has of each.
  private static let fills = [
    ("77", "the pointer was most likely freed"), ("5a", "memory that had been freed"),
    ("a5", "never written"), ("db", "the pointer was most likely freed"),
    ("fd", "the pointer was most likely freed"), ("cc", "the pointer was most likely freed"),
  ]

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

  /// About half of the processes live on, as the allocator's word may pass for a count.
  ///
  /// The others end in the runtime, whose registers have the object's address.
  @Test("A release too many is told by what the allocator has left in the object")
  func doubleRelease() async throws {
    let scene = try await ObjectScene()
    for run in 0..<Self.runs {
      let (_, report) = try await scene.run("double-release", first: run)
      guard let report else { continue }
      let freed = report.words.filter { $0.object?.type?.hasSuffix("Node") == true }
      #expect(freed.allSatisfy { $0.object?.state != "immortal" })
      let explanation = report.explanation ?? ""
      #expect(!explanation.contains("Node"), "\(explanation)")
      #expect(
        explanation.contains("whose memory had been freed: it was most likely released too often"),
        "run \(run): \(explanation) \(report.message ?? "")")
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
