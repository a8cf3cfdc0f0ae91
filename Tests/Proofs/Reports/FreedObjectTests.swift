import CrashTestSupport
import Foundation
import Testing

/// Objects that are used after they were freed, with each allocator: the report names the cause if the memory
/// shows it, and never otherwise.
///
/// The expected result comes from the memory that the crashed program printed before it used it, and from the
/// known behavior of the allocators.
@Suite(.serialized)
struct FreedObjectTests {
  /// The number of crashes to count, over all mistakes and allocators.
  private static let crashes = ObjectScene.isFull ? 1_000 : 16
  private static let scenes = [
    "freed-field", "freed-dispatch", "freed-self", "freed-release", "reused-field", "reused-self",
    "unowned-after-free", "wild-retain",
  ]

  @Test func theCauseIsNamedWhereTheMemoryTellsItAndNotElsewhere() async throws {
    let builds = [try await ObjectScene(.asTested), try await ObjectScene(.release)]
    var tally: [String: PlantedTally] = [:]
    // Some mistakes have no effect with some allocators, so they are not repeated without limit.
    var runs = Self.scenes.flatMap { scene in Allocator.allCases.map { (scene, $0) } }
    var number = 0
    while tally.values.reduce(0, { $0 + $1.crashes }) < Self.crashes, !runs.isEmpty {
      for (scene, allocator) in runs {
        let key = "\(scene), \(allocator)"
        let run = PlantedRun(scene: scene, allocator: allocator, number: number)
        let (output, report) = try await builds[number % 2].run(
          scene, first: number, environment: allocator.environment(number))
        tally[key, default: PlantedTally()].add(run, output, report)
        if !ObjectScene.isFull, tally.values.reduce(0, { $0 + $1.crashes }) == Self.crashes {
          break
        }
      }
      number += 1
      if number == 8 {
        runs.removeAll { tally["\($0.0), \($0.1)"]?.crashes == 0 }
      }
    }
    for (key, counts) in tally.sorted(by: { $0.key < $1.key }) { print("\(key): \(counts)") }
    let all = tally.values.reduce(PlantedTally(), +)
    print("all: \(all)")
    #expect(all.crashes >= Self.crashes && all.told > 0)
    #expect(all.named == all.told && all.wrong == 0)
    if ObjectScene.isFull { #expect(all.told >= 300 && all.crashes - all.told >= 200) }
  }
}

/// The allocator of a run, and what it writes into freed memory.
private enum Allocator: String, CaseIterable {
  case glibc
  /// glibc with the option that fills freed memory; memory in a thread's cache is not filled.
  case perturbed
  case perturbedWithoutCache
  case jemalloc
  case jemallocWithJunk
  case tcmalloc

  func environment(_ number: Int) -> [String: String] {
    switch self {
    case .glibc: [:]
    case .perturbed: ["MALLOC_PERTURB_": "\(fill(number))"]
    case .perturbedWithoutCache:
      ["MALLOC_PERTURB_": "\(fill(number))", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"]
    case .jemalloc: ["LD_PRELOAD": "libjemalloc.so.2"]
    case .jemallocWithJunk: ["LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "junk:true"]
    case .tcmalloc: ["LD_PRELOAD": "libtcmalloc_minimal.so.4"]
    }
  }

  /// The byte that fills freed memory; 255 is avoided, because the number -1 shows nothing.
  func fill(_ number: Int) -> UInt8 {
    self == .jemallocWithJunk ? 0x5A : UInt8(1 + number * 37 % 254)
  }

  var isGlibc: Bool { [.glibc, .perturbed, .perturbedWithoutCache].contains(self) }
}

private struct PlantedRun {
  /// The words of an object that the program printed.
  struct Words {
    let address: UInt64
    let metadata: UInt64
    let words: [UInt64]

    /// True if the memory is unchanged since the object's end: it has the type, and a count whose bit 32 says
    /// that the deinitializer ran.
    var isDead: Bool { words[0] == metadata && words[1] >> 32 & 1 == 1 && words[1] >> 63 == 0 }

    /// True if glibc has put the object into a free list: its first word is the address of another block, XORed
    /// with its own.
    var isInListOfGlibc: Bool {
      let next = words[0] ^ address >> 12
      return words[0] != metadata && (next == 0 || next % 16 == 0 && next >> 32 == address >> 32)
    }
  }

  let scene: String
  let allocator: Allocator
  let number: Int

  /// The words that an explanation of this crash must contain; empty if the memory shows nothing.
  func told(by output: String) -> [String] {
    switch scene {
    case "unowned-after-free": return ["outlived was a Node."]
    case "wild-retain":
      return [
        "0x\(String(0x1234_5678_9AB0 + number * 0x7_7770, radix: 16)), which is not a Swift object"
      ]
    default: break
    }
    let memory = Self.words(output)
    guard let object = memory["object"] else { return [] }
    if let lastly = memory["self"] {
      // The program crashed in a method, for another reason.
      return lastly.isDead && memory["reused"] == nil
        ? ["points to an Item whose deinitializer has run"] : []
    }
    if memory["reused"] != nil { return [] }
    let fill = UInt64(allocator.fill(number)) &* 0x0101_0101_0101_0101
    let filled = "byte 0x\(String(format: "%02x", allocator.fill(number))) repeated"
    if scene == "freed-field", object.words[2] == fill { return [filled] }
    if scene == "freed-dispatch" {
      // The program read the address of its method at an offset from the object's first word.
      if object.isInListOfGlibc, allocator.isGlibc { return ["That memory had been freed"] }
      return object.words[0] == fill ? [filled] : []
    }
    // The runtime retained or released memory that is in the allocator's free list, or a dead object.
    let counted = scene == "freed-field" ? memory["label"] : object
    if allocator.isGlibc, counted?.isInListOfGlibc == true { return ["memory had been freed"] }
    // The runtime called the deinitializer through a word of another free list.
    if scene == "freed-release", object.words[0] != object.metadata {
      return ["was most likely released too often"]
    }
    return counted?.isDead == true ? ["an Item whose deinitializer has run"] : []
  }

  private static func words(_ output: String) -> [String: Words] {
    var all: [String: Words] = [:]
    for line in output.split(separator: "\n") where line.hasPrefix("memory ") {
      let parts = line.split(separator: " ")
      let numbers = parts.dropFirst(2).compactMap {
        $0 == "0" ? 0 : UInt64($0.dropFirst(2), radix: 16)
      }
      guard numbers.count == 6 else { continue }
      all[String(parts[1])] = Words(
        address: numbers[0], metadata: numbers[1], words: Array(numbers[2...]))
    }
    return all
  }
}

private struct PlantedTally: CustomStringConvertible {
  /// Words that occur only in explanations that call memory freed or an object dead.
  private static let claims = [
    "had been freed", "most likely freed", "deinitializer has run", "being deinitialized",
    "outlived",
    "released too often", "repeated", "holds nothing",
  ]

  var crashes = 0
  /// The number of crashes whose memory shows the cause.
  var told = 0
  /// The number of those whose explanation names it.
  var named = 0
  /// The number of explanations with a claim although the memory shows nothing.
  var wrong = 0

  var description: String {
    "\(crashes) crashes, \(told) told by memory, \(named) named, \(wrong) wrong"
  }

  mutating func add(_ run: PlantedRun, _ output: String, _ report: ObjectReport?) {
    guard let report else { return }
    crashes += 1
    let explanation = report.explanation ?? ""
    let words = run.told(by: output)
    if words.isEmpty {
      guard let claim = Self.claims.first(where: explanation.contains) else { return }
      wrong += 1
      Issue.record("\(run): \(claim): \(explanation)\n\(output)")
    } else {
      told += 1
      if words.allSatisfy(explanation.contains) {
        named += 1
      } else {
        Issue.record("\(run): \(explanation) \(report.message ?? "")\n\(output)")
      }
    }
  }

  static func + (_ one: PlantedTally, _ other: PlantedTally) -> PlantedTally {
    PlantedTally(
      crashes: one.crashes + other.crashes, told: one.told + other.told,
      named: one.named + other.named, wrong: one.wrong + other.wrong)
  }
}
