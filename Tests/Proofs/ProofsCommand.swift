internal import CrashTestSupport
internal import Foundation
internal import Testing

/// `swift run proofs`: the tests that `swift test` leaves out because they are long or need a debugger, ptrace,
/// root or a separate build.
@main
struct ProofsCommand {
  static let usage = """
    usage: swift run proofs [list | all | NAME...] [--full]
           swift run proofs for PATH...
           swift run proofs --since COMMIT
           swift run proofs catalogue OPTION...
           swift run proofs fuzz SECONDS [--samples DIRECTORY] [TARGET...]
           swift run proofs foreign-dumps DIRECTORY
           swift run proofs make-reports DIRECTORY REPORTS [HOSTS]

      list      names the proofs
      all       runs every proof, as no name does
      --full    runs more of each, for hours; without it the part that every change is checked with
      for       prints the commands that run the tests and proofs of changed files and folders
      --since   runs the proofs of the core, and those of the outer ring that the changes since a
                commit can reach; all of them if this clone does not have the commit

    swift run proofs catalogue --help tells the options of the catalogue. fuzz lets libFuzzer run for some
    seconds on each target, and keeps its inputs and counts in Tests/ExtremeDumps/Corpora. foreign-dumps reads the
    test dumps of Breakpad, rust-minidump and symbolic that a directory has. make-reports makes a
    database of many reports, whose bodies are links of 50 real ones, for measurements.
    """

  /// The option with which the command runs itself to run Swift Testing suites in a child process.
  static let suitesOption = "--run-suites"

  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      if arguments.first == suitesOption {
        let status: CInt = await Testing.__swiftPMEntryPoint(passing: nil)
        ProofRun.tellProcessorTime(to: arguments)
        exit(status)
      }
      if arguments.first == "catalogue", arguments.count > 1 {
        let tally = try await CatalogueTool.run(Array(arguments.dropFirst()))
        exit(tally.failed == 0 ? 0 : 1)
      }
      if arguments.first == "fuzz" {
        exit(try await FuzzCommand(Array(arguments.dropFirst())).run() ? 0 : 1)
      }
      if arguments.first == "foreign-dumps" {
        exit(try await ForeignDumpsCommand(Array(arguments.dropFirst())).run() ? 0 : 1)
      }
      if arguments.first == "make-reports" {
        try await FleetCommand(Array(arguments.dropFirst())).run()
        exit(0)
      }
      if arguments.first == "for" {
        try await printCommands(for: Array(arguments.dropFirst()))
        exit(0)
      }
      exit(try await run(arguments) ? 0 : 1)
    } catch let error as CatalogueUsageError {
      fail("\(error)\n\n\(CatalogueCommand.usage)", status: EX_USAGE)
    } catch let error as UsageError {
      fail("\(error.description)\n\n\(usage)", status: EX_USAGE)
    } catch {
      fail("\(error)", status: 1)
    }
  }

  /// - Returns: true if all proofs hold.
  private static func run(_ arguments: [String]) async throws -> Bool {
    if arguments.contains("--help") || arguments.contains("-h") {
      print(usage)
      return true
    }
    let isFull = arguments.contains("--full")
    let names = arguments.filter { $0 != "--full" }
    if names == ["list"] {
      list()
      return true
    }
    if names.first == "--since" {
      guard names.count == 2 else { throw UsageError(description: "--since takes one commit") }
      let proofs = try await ProofSelection.proofs(since: names[1])
      let others = Proof.all.filter { proof in !proofs.contains { $0.name == proof.name } }
      if !others.isEmpty {
        // Written without buffering, as the proofs write: otherwise a pipe would get the line after their output.
        let line = "no change reaches: " + others.map(\.name).joined(separator: " ") + "\n"
        FileHandle.standardOutput.write(Data(line.utf8))
      }
      return try await run(proofs, isFull: isFull)
    }
    let isWhole = names.isEmpty || names.contains("all")
    var proofs: [Proof] = isWhole ? Proof.all : []
    for name in names where name != "all" {
      guard let proof = Proof.all.first(where: { $0.name == name }) else {
        throw UsageError(description: "no proof is named \(name)")
      }
      if !proofs.contains(where: { $0.name == name }) { proofs.append(proof) }
    }
    return try await run(proofs, isFull: isFull)
  }

  private static func run(_ proofs: [Proof], isFull: Bool) async throws -> Bool {
    let start = ContinuousClock.now
    let records = try await records(of: proofs, isFull: isFull)
    let table = ProofTable(records, seconds: start.duration(to: .now) / .seconds(1))
    print("\n" + table.text)
    return records.allSatisfy(\.holds)
  }

  /// Runs proofs, two at a time: many of their tests wait, and leave processors idle.
  ///
  /// Full proofs run one at a time.
  private static func records(of proofs: [Proof], isFull: Bool) async throws -> [ProofRecord] {
    var records: [Int: ProofRecord] = [:]
    try await withThrowingTaskGroup(of: (Int, ProofRecord).self) { group in
      for place in proofs.indices {
        if place >= (isFull ? 1 : 2), let (place, record) = try await group.next() {
          records[place] = record
        }
        group.addTask { (place, try await ProofRun(proofs[place], isFull: isFull).run()) }
      }
      while let (place, record) = try await group.next() { records[place] = record }
    }
    return proofs.indices.compactMap { records[$0] }
  }

  private static func printCommands(for paths: [String]) async throws {
    guard !paths.isEmpty else { throw UsageError(description: "for takes files or folders") }
    let root = URL(fileURLWithPath: BuiltProducts.packageRoot).path + "/"
    let relative = try paths.map { path in
      let absolute = URL(fileURLWithPath: path).standardizedFileURL.path
      guard absolute.hasPrefix(root) else {
        throw UsageError(description: "\(path) is not in this package")
      }
      return String(absolute.dropFirst(root.count))
    }
    let commands = try await ProofSelection(for: relative).commands
    print(commands.isEmpty ? "bash .ci/run" : commands.joined(separator: "\n"))
  }

  private static func list() {
    let width = Proof.all.map(\.name.count).max() ?? 0
    for proof in Proof.all {
      print(proof.name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + proof.summary)
      let full =
        switch proof.full {
        case .environment(let name, let value)?: "; --full: \(name)=\(value)"
        case .catalogue(let runs)?:
          "; --full: "
            + runs.map { "catalogue " + $0.joined(separator: " ") }.joined(separator: ", ")
        case nil: ""
        }
      print(
        String(repeating: " ", count: width + 2) + proof.suites.joined(separator: " ") + full)
    }
  }

  private static func fail(_ message: String, status: Int32) -> Never {
    FileHandle.standardError.write(Data("proofs: \(message)\n".utf8))
    exit(status)
  }

  struct UsageError: Error {
    let description: String
  }
}
