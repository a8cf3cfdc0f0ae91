import Foundation
import Postmortem

/// Makes new databases for each round, because a conversion empties them.
struct Benchmark {
  private let directory: String
  private let program: String
  private let dumps: Dumps

  /// The median over the rounds.
  private struct Result {
    var seconds = 0.0
    var processorSeconds = 0.0
    /// The CPU time relative to a plain copy of the same files.
    var ratio = 0.0
    /// The maximum over all rounds, in bytes.
    var anonymous = 0
    var bytes = 0
  }

  init(directory parent: String?) throws {
    let parent = parent ?? FileManager.default.temporaryDirectory.path
    directory = "\(parent)/conversion-benchmark-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    dumps = try Dumps(program: program, in: directory)
  }

  func removeFiles() { try? FileManager.default.removeItem(atPath: directory) }

  func run(repeats: Int) throws {
    print("Medians of \(repeats); 'x copy' is CPU time in units of a copy of the same files.")
    print("dumps            MB   seconds   CPU s   x copy   anonymous MiB")
    let heavy = try measure("1 of 500 MB", repeats, count: 1, mebibytes: 477)
    let small = try measure("1,000 small", repeats, count: 1_000)
    let many = try measure("10,000 small", max(1, repeats / 3), count: 10_000)
    print("")
    let anonymous = Double(max(heavy.anonymous, many.anonymous)) / 0x10_0000
    goal("anonymous memory, MiB", anonymous, atMost: 16)
    let speed = Double(heavy.bytes) / 1e6
    goal("MB of a large dump in a second", speed / heavy.seconds, atLeast: 500)
    goal("MB of a large dump in a second of CPU", speed / heavy.processorSeconds, atLeast: 500)
    goal("small dumps in a second", 1_000 / small.seconds, atLeast: 1_000)
    goal("small dumps in a second of CPU", 1_000 / small.processorSeconds, atLeast: 1_000)
    let growth = many.processorSeconds / small.processorSeconds / 10
    goal("a dump of 10,000 in units of one of 1,000", growth, atMost: 1.5)
  }

  private func measure(
    _ name: String, _ repeats: Int, count: Int, mebibytes: Int = 0
  ) throws -> Result {
    var result = Result()
    var runs: [(run: Run, copy: Double)] = []
    for _ in 0..<repeats {
      let database = directory + "/database"
      result.bytes = try dumps.makeDatabase(at: database, count: count, mebibytes: mebibytes)
      let copy = try copyTime(of: database + "/pending-serialized-dumps")
      runs.append((try Run(program, ["convert", database]), copy))
      try FileManager.default.removeItem(atPath: database)
    }
    func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
    result.seconds = median(runs.map(\.run.seconds))
    result.processorSeconds = median(runs.map(\.run.processorSeconds))
    result.ratio = median(runs.map { $0.run.processorSeconds / $0.copy })
    result.anonymous = runs.map(\.run.anonymous).max() ?? 0
    print(
      name.padding(toLength: 13, withPad: " ", startingAt: 0)
        + String(
          format: "%6.0f %9.2f %7.2f %8.2f %15.1f", Double(result.bytes) / 1e6, result.seconds,
          result.processorSeconds, result.ratio, Double(result.anonymous) / 0x10_0000))
    return result
  }

  /// Reads and writes all files of a directory once.
  ///
  /// - Returns: seconds of CPU time.
  private func copyTime(of source: String) throws -> Double {
    let start = clock()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    for name in try FileManager.default.contentsOfDirectory(atPath: source) {
      let input = open("\(source)/\(name)", O_RDONLY)
      let output = open(directory + "/copy", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      defer {
        close(input)
        close(output)
      }
      while case let count = read(input, &buffer, buffer.count), count > 0 {
        guard write(output, buffer, count) == count else {
          throw Dumps.Failure(description: "cannot write a copy")
        }
      }
    }
    unlink(directory + "/copy")
    return Double(clock() - start) / Double(CLOCKS_PER_SEC)
  }

  private func goal(
    _ name: String, _ value: Double, atLeast least: Double? = nil, atMost most: Double? = nil
  ) {
    let bound = least ?? most ?? 0
    let isMet = least.map { value >= $0 } ?? (value <= bound)
    let factor = max(value / bound, bound / value)
    let verdict = isMet ? "met" : String(format: "missed by a factor of %.2f", factor)
    let side = least == nil ? "at most" : "at least"
    print("\(name): " + String(format: "%.1f, goal %@ %.1f: ", value, side, bound) + verdict)
  }
}
