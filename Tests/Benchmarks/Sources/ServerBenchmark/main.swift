// Measures the throughput of Examples/Server with crash reports and without, alternately, and prints their ratio.
//
//   swift build -c release --product Server
//   swift build -c release --product load-generator
//   swift run --package-path Tests/Benchmarks -c release server-benchmark .build/release [ROUNDS [SECONDS [CONNECTIONS]]]
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
guard (1...4).contains(arguments.count),
  let rounds = Int(arguments.count > 1 ? arguments[1] : "15"), rounds > 0,
  let seconds = Double(arguments.count > 2 ? arguments[2] : "2"), seconds > 0,
  let connections = Int(arguments.count > 3 ? arguments[3] : "8"), connections > 0
else {
  FileHandle.standardError.write(
    Data("usage: server-benchmark BUILT [ROUNDS [SECONDS [CONNECTIONS]]]\n".utf8))
  exit(64)
}
let built = URL(filePath: arguments[0])
let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: directory) }

/// A running program and its output.
struct Running {
  let process = Process()
  let pipe = Pipe()

  init(_ name: String, _ arguments: [String], readsErrors: Bool = false) throws {
    process.executableURL = built.appending(path: name)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_BACKTRACE": "enable=no"]
    ) { $1 }
    if readsErrors { process.standardError = pipe } else { process.standardOutput = pipe }
    try process.run()
  }

  /// Finds the number that a pattern captures, in the first line that matches.
  func number(_ pattern: Regex<(Substring, Substring)>) throws -> Int {
    var text = ""
    while let byte = try pipe.fileHandleForReading.read(upToCount: 1)?.first {
      text.unicodeScalars.append(Unicode.Scalar(byte))
      if byte == 0x0A, let match = text.firstMatch(of: pattern), let number = Int(match.1) {
        return number
      }
    }
    throw CocoaError(.fileReadCorruptFile)
  }
}

/// The CPU time of the children that have been waited for, in seconds.
func childTime() -> Double {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
  return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
    + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
}

/// One run of the server.
struct Measurement {
  /// The number of answers per second.
  var throughput = 0.0
  /// The server's CPU time for one answer in microseconds, including the server's start.
  var cost = 0.0
}

func measure(_ options: [String]) throws -> Measurement {
  let database = directory.appending(path: "database").path
  let server = try Running(
    "Server", [database, "0", "--threads", "2"] + options, readsErrors: true)
  let port = try server.number(/listening on 127\.0\.0\.1:([0-9]+)/)
  let load = try Running("load-generator", ["\(port)", "\(seconds)", "\(connections)"])
  var line = ""
  if let data = try load.pipe.fileHandleForReading.readToEnd() {
    line = String(decoding: data, as: UTF8.self)
  }
  load.process.waitUntilExit()
  let before = childTime()
  server.process.terminate()
  server.process.waitUntilExit()
  let after = childTime()
  guard load.process.terminationStatus == 0, server.process.terminationStatus == 0,
    let answers = line.firstMatch(of: /^([0-9]+) answers/).flatMap({ Double($0.1) }),
    let throughput = line.firstMatch(of: /([0-9]+) a second/).flatMap({ Double($0.1) }),
    answers > 0
  else { throw CocoaError(.executableRuntimeMismatch) }
  return Measurement(throughput: throughput, cost: (after - before) / answers * 1e6)
}

/// A quantile of the values.
func quantile(_ values: [Double], _ part: Double) -> Double {
  values.sorted()[min(values.count - 1, Int(Double(values.count) * part))]
}

func row(_ name: String, _ values: [Double], _ format: String) {
  print(
    name.padding(toLength: 32, withPad: " ", startingAt: 0)
      + [0, 0.25, 0.5, 0.75, 1].map { String(format: format, quantile(values, $0)) }.joined())
}

var with: [Measurement] = []
var without: [Measurement] = []
/// The ratios of two runs without crash reports, which show how far equal runs differ on this machine.
var noise: [Double] = []
// This run is not measured: it reads the files for the first time.
_ = try measure([])
for round in 0..<rounds {
  // The order alternates, so that neither profits from being second.
  if round % 2 == 0 { with.append(try measure([])) }
  without.append(try measure(["--no-handler"]))
  if round % 2 == 1 { with.append(try measure([])) }
  noise.append(try measure(["--no-handler"]).throughput / without[round].throughput)
}
print("\(rounds) rounds of \(seconds) s, \(connections) connections, 2 loops.")
print("                                    least      25%   median      75%     most")
row("answers a second, without", without.map(\.throughput), "%9.0f")
row("answers a second, with reports", with.map(\.throughput), "%9.0f")
row("with / without, in a round", zip(with, without).map { $0.throughput / $1.throughput }, "%9.3f")
row("without / without, in a round", noise, "%9.3f")
row("CPU microseconds, without", without.map(\.cost), "%9.2f")
row("CPU microseconds, with reports", with.map(\.cost), "%9.2f")
row("with / without, in a round", zip(with, without).map { $0.cost / $1.cost }, "%9.3f")
