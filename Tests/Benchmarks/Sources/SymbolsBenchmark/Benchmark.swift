import Foundation
import Postmortem

/// Makes one dump, and then times both readers on it, one after the other in each round.
struct Benchmark {
  private let directory: URL
  private let tool: String
  private let symbolizer: String
  private let dump: String

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The cost of one run of a program.
  struct Cost {
    var seconds: Double
    /// The maximum memory use, in bytes.
    var memory: Int
  }

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent(
      "symbols-benchmark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    tool = URL(fileURLWithPath: own).deletingLastPathComponent().path + "/postmortem"
    symbolizer = try Self.findSymbolizer()
    let database = directory.path + "/database"
    _ = try Self.measure(
      own, ["victim", database], output: directory.path + "/victim", mayDie: true)
    // Stored names would not make `show` faster, but the report would not be that of a new dump.
    let name = try processIntermediateDumps(database: database, storingSymbols: false).first
    guard let id = name?.reportID else { throw Failure(description: "the victim left no dump") }
    dump = "\(database)/pending/\(id).dmp"
  }

  func removeFiles() { try? FileManager.default.removeItem(at: directory) }

  private static func findSymbolizer() throws -> String {
    for directory in (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") {
      let swift = URL(fileURLWithPath: "\(directory)/swift").resolvingSymlinksInPath()
      let path = swift.deletingLastPathComponent().path + "/llvm-symbolizer"
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw Failure(description: "no llvm-symbolizer beside swift")
  }

  func run(repeats: Int) throws {
    let report = directory.path + "/report.json"
    _ = try Self.measure(tool, ["show", "--json", dump], output: report)
    let list = directory.path + "/addresses"
    let (threads, count) = try writeAddresses(of: report, to: list)
    var rounds: [(ours: Cost, bare: Cost, theirs: Cost)] = []
    for _ in 0..<repeats {
      rounds.append(
        (
          try Self.measure(tool, ["show", "--json", dump], output: "/dev/null"),
          try Self.measure(tool, ["show", "--json", "--no-symbols", dump], output: "/dev/null"),
          try Self.measure(
            symbolizer, ["--inlines", "--functions=linkage", "@" + list], output: "/dev/null")
        ))
    }
    func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
    func line(_ name: String, _ cost: (Int) -> Cost) {
      let seconds = median(rounds.indices.map { cost($0).seconds })
      let ratio = median(rounds.indices.map { cost($0).seconds / rounds[$0].theirs.seconds })
      let memory = rounds.indices.map { cost($0).memory }.max() ?? 0
      let padded = name.padding(toLength: 28, withPad: " ", startingAt: 0)
      print(
        padded
          + String(format: "%10.0f %10.2f %12d", seconds * 1e6, ratio, memory >> 10))
    }
    print("\(threads) threads, \(count) addresses; medians of \(repeats)")
    print("                            microseconds  x theirs  peak KiB")
    line("postmortem show") { rounds[$0].ours }
    line("postmortem show --no-symbols") { rounds[$0].bare }
    line("llvm-symbolizer") { rounds[$0].theirs }
  }

  /// Writes the addresses that `show` looked up for llvm-symbolizer: a file and an address relative to it.
  private func writeAddresses(of report: String, to list: String) throws -> (Int, Int) {
    struct Report: Decodable {
      struct Thread: Decodable { let frames: [Frame] }
      struct Frame: Decodable {
        let address: String
        let module: String?
        let moduleOffset: String?
        let inlined: Bool?
        let trust: String
      }
      struct Module: Decodable { let path: String }
      let threads: [Thread]
      let modules: [Module]
    }
    let decoded = try JSONDecoder().decode(
      Report.self, from: Data(contentsOf: URL(fileURLWithPath: report)))
    let paths = Dictionary(
      decoded.modules.map { (URL(fileURLWithPath: $0.path).lastPathComponent, $0.path) },
      uniquingKeysWith: { first, _ in first })
    var lines: [String] = []
    for frame in decoded.threads.flatMap(\.frames) where frame.inlined != true {
      guard let path = frame.module.flatMap({ paths[$0] }), path.hasPrefix("/"),
        let offset = frame.moduleOffset.flatMap({ UInt64($0.dropFirst(2), radix: 16) })
      else { continue }
      // Every image on Linux is linked for address 0.
      let address = frame.trust == "context" ? offset : offset - 1
      lines.append("\"\(path) 0x\(String(address, radix: 16))\"")
    }
    try lines.joined(separator: "\n").write(toFile: list, atomically: false, encoding: .utf8)
    return (decoded.threads.count, lines.count)
  }

  private static func measure(
    _ program: String, _ arguments: [String], output: String, mayDie: Bool = false
  ) throws -> Cost {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { words.forEach { free($0) } }
    let start = ContinuousClock.now
    var process: pid_t = 0
    guard posix_spawn(&process, program, &actions, nil, &words, environ) == 0 else {
      throw Failure(description: "\(program) does not start")
    }
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(process, &status, 0, &usage) == process, status == 0 || mayDie else {
      throw Failure(description: "\(program) ended with \(status)")
    }
    let time = (ContinuousClock.now - start).components
    return Cost(
      seconds: Double(time.seconds) + Double(time.attoseconds) * 1e-18,
      memory: usage.ru_maxrss << 10)
  }
}
