internal import CrashCatalogue
internal import CrashTestSupport
internal import Foundation

/// The options of `swift run proofs catalogue`.
struct CatalogueCommand {
  static let usage = """
    usage: swift run proofs catalogue --full [--repeat N [--in-turn]] [--at-once N] [--page FILE] [FILTER]...
           swift run proofs catalogue --soak N [--seed S] [--at-once N] [--build NAME]...
           swift run proofs catalogue --kills N [--threads N] [--seed S] [--build NAME]
           swift run proofs catalogue FILTER...

      --full       every kind under every condition in every build; prints the full table at its end
      --repeat     so many times; each time on the next kind of thread
      --in-turn    each time in one build, the next time in the next; what takes seconds each fifth time
      --at-once    so many at a time; many only wait (default: one more than there are processors)
      --page       writes Docs/Catalogue.md: the totals, and the pairs that are left out
      --soak       so many random crashes; --seed repeats a run
      --kills      SIGKILL at so many random moments of a capture; each torn dump must be one report
                   with the crashing thread and its stack, 99 of 100 at least
      --threads    threads of the victim that is killed (default: 64)
      FILTER       --kind NAME, --condition NAME, --on PLACE, --build NAME; each may be given more than once
                   builds: \(BuildConfiguration.allCases.map(\.rawValue).joined(separator: " "))
    """

  private let arguments: [String]
  private var options: [String: [String]] = [:]

  init(_ arguments: [String]) throws(CatalogueUsageError) {
    self.arguments = arguments
    var remaining = arguments[...]
    while let option = remaining.popFirst() {
      switch option {
      case "--full", "--help", "--in-turn": options[option] = []
      case "--repeat", "--at-once", "--page", "--soak", "--seed", "--kind", "--condition", "--on",
        "--build", "--kills", "--threads":
        guard let value = remaining.popFirst() else {
          throw CatalogueUsageError(description: "\(option) needs a value")
        }
        options[option, default: []].append(value)
      default: throw CatalogueUsageError(description: "unknown option \(option)")
      }
    }
    for option in ["--repeat", "--at-once", "--soak", "--seed", "--kills", "--threads"] {
      for value in options[option] ?? [] where UInt64(value) == nil {
        throw CatalogueUsageError(description: "\(option) takes a number, not \(value)")
      }
    }
    for name in options["--build"] ?? [] where BuildConfiguration(rawValue: name) == nil {
      throw CatalogueUsageError(description: "unknown build \(name)")
    }
    if options.isEmpty { throw CatalogueUsageError(description: "what shall be run?") }
  }

  var asksForHelp: Bool { options["--help"] != nil }
  var isFull: Bool { options["--full"] != nil }
  var page: String? { options["--page"]?.last }
  var rounds: Int { number("--repeat").map(Int.init) ?? 1 }
  /// How many crashes run at a time; nil for a number that suits the machine.
  var width: Int? { number("--at-once").map { max(1, Int(clamping: $0)) } }
  /// The command as typed.
  var text: String { (["swift run proofs catalogue"] + arguments).joined(separator: " ") }

  /// How many captures are killed; nil for none.
  var kills: Int? { number("--kills").map { Int(clamping: $0) } }
  var threads: Int { number("--threads").map { max(1, Int(clamping: $0)) } ?? 64 }
  var seed: UInt64 { number("--seed") ?? UInt64(Date().timeIntervalSince1970) }
  var build: BuildConfiguration {
    options["--build"]?.compactMap(BuildConfiguration.init).first ?? .release
  }

  func cases(round: Int) -> [CatalogueCase] {
    let builds =
      options["--build"]?.compactMap(BuildConfiguration.init) ?? BuildConfiguration.allCases
    if let count = number("--soak") {
      let seed = seed &+ UInt64(round)
      FileHandle.standardOutput.write(Data("seed \(seed)\n".utf8))
      return CatalogueSelection.soak(Int(count), seed: seed, builds: builds)
    }
    let places = options["--on"]
    // A given crash place comes up in one of four rounds, so all rounds are searched for it.
    let rounds = places == nil ? round...round : 0...CrashPlace.allCases.count - 1
    var seen: Set<String> = []
    let isInTurn = options["--in-turn"] != nil
    return rounds.flatMap {
      isInTurn
        ? CatalogueSelection.inTurn(builds: builds, round: $0)
        : CatalogueSelection.full(builds: builds, round: $0)
    }.filter {
      isWanted($0.death.kind, "--kind") && isWanted($0.condition.name, "--condition")
        && isWanted($0.place.rawValue, "--on") && seen.insert($0.description).inserted
    }
  }

  private func isWanted(_ name: String, _ option: String) -> Bool {
    options[option]?.contains(name) ?? true
  }

  private func number(_ option: String) -> UInt64? { options[option]?.last.flatMap { UInt64($0) } }
}

struct CatalogueUsageError: Error, CustomStringConvertible {
  let description: String
}
