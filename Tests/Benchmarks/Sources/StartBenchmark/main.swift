// Starts the same program with a handler and without one, and a plain C program that does the minimum,
// interleaved in one run, and prints medians.
//
//   swift run --package-path Tests/Benchmarks -c release start-benchmark [REPEATS]
import Foundation

/// The cost of one start; the victim prints the first three numbers, which are for `startHandler` only.
struct Start {
  var nanoseconds = 0.0
  var pageFaults = 0.0
  var residentKiB = 0.0
  /// The CPU time of the whole process, from exec to exit, in nanoseconds.
  var process = 0.0
}

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count <= 1, let repeats = Int(arguments.first ?? "51"), repeats > 0 else {
  FileHandle.standardError.write(Data("usage: start-benchmark [REPEATS]\n".utf8))
  exit(64)
}
let victim = Bundle.main.bundleURL.appending(path: "start-victim")
let floor = Bundle.main.bundleURL.appending(path: "start-floor")
let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: directory) }

func output(_ program: URL, _ arguments: [String]) throws -> String {
  let process = Process()
  process.executableURL = program
  process.arguments = arguments
  process.environment = ProcessInfo.processInfo.environment.merging(
    ["SWIFT_BACKTRACE": "enable=no"]
  ) { $1 }
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { throw CocoaError(.executableRuntimeMismatch) }
  return String(decoding: data, as: UTF8.self)
}

func start(_ arguments: [String]) throws -> Start {
  let before = childTime()
  let text = try output(victim, ["start"] + arguments)
  let after = childTime()
  let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
  guard numbers.count == 3 else { throw CocoaError(.fileReadCorruptFile) }
  return Start(
    nanoseconds: numbers[0], pageFaults: numbers[1], residentKiB: numbers[2],
    process: after - before)
}

/// The CPU time of the plain C program, in nanoseconds.
func floorTime() throws -> Double {
  let text = try output(floor, [directory.path])
  guard let time = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
    throw CocoaError(.fileReadCorruptFile)
  }
  return time
}

/// CPU time of the children that have ended, in nanoseconds.
func childTime() -> Double {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
  let seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
  return seconds * 1e9 + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000
}

/// The number of system calls between the two marks of the victim; nil without strace.
func systemCalls(_ arguments: [String]) throws -> Int? {
  guard FileManager.default.isExecutableFile(atPath: "/usr/bin/strace") else { return nil }
  let trace = directory.appending(path: "trace")
  _ = try output(
    URL(filePath: "/usr/bin/strace"),
    ["-qq", "-e", "signal=none", "-e", "trace=!brk", "-o", trace.path, victim.path, "start"]
      + arguments)
  let lines = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
  let marks = lines.indices.filter { lines[$0].hasPrefix("close(-1)") }
  return marks.count == 2 ? marks[1] - marks[0] - 1 : nil
}

/// The names of the steady-state measurements, in the order in which the victim prints them.
let names = [
  "Annotation.set", "Annotation.set of a text", "breadcrumb", "(a lock)", "withContext",
  "breadcrumb in it", "throw",
  "Annotation.set, 8 threads", "text, 8 threads", "breadcrumb, 8 threads",
  "(a lock, 8 threads)",
  "withContext, 8 threads", "breadcrumb in it, 8 threads", "throw, 8 threads",
  "withContext in a task",
  "making a thread", "KiB made dirty", "bytes a thread",
]

/// Measures the costs while nothing happens.
func steady(_ arguments: [String]) throws -> [Double] {
  let numbers = try output(victim, ["steady"] + arguments).split(whereSeparator: \.isWhitespace)
    .compactMap { Double($0) }
  guard numbers.count == names.count else { throw CocoaError(.fileReadCorruptFile) }
  return numbers
}

func goal(_ name: String, _ value: Double, _ limit: Double, _ unit: String) {
  let verdict =
    value <= limit
    ? "met: \(Int(value))" : "missed by \(Int(value - limit)): \(Int(value))"
  print("goal of \(Int(limit)) \(unit) for \(name): \(verdict)")
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

func row(_ name: String, _ starts: [Start], _ bare: [Start], _ calls: Int?) -> String {
  let ratio = median(zip(starts, bare).map { $0.process / max($1.process, 1) })
  return [
    name.padding(toLength: 28, withPad: " ", startingAt: 0),
    String(format: "%9.0f", median(starts.map { $0.nanoseconds / 1000 })),
    String(format: "%9.0f", (starts.map { $0.nanoseconds / 1000 }).min() ?? 0),
    (calls.map { String(format: "%6d", $0) } ?? "     -"),
    String(format: "%7.0f", median(starts.map(\.pageFaults))),
    String(format: "%10.0f", median(starts.map(\.residentKiB))),
    String(format: "%7.2f", ratio),
  ].joined(separator: " ")
}

let database = directory.appending(path: "database").path
let crowded = directory.appending(path: "crowded").path
for path in [database, crowded] { _ = try start([path]) }
for index in 0..<10_000 {
  let suffix = index % 2 == 0 ? ".locked" : ""
  let name = "start-victim@\(UUID().uuidString.lowercased())\(suffix)"
  let path = "\(crowded)/pending-serialized-dumps/\(name)"
  guard FileManager.default.createFile(atPath: path, contents: nil) else { exit(1) }
}
let contenders = [
  ("no handler", [String]()), ("handler", [database]), ("handler, 10,000 leftovers", [crowded]),
]
var rounds = [[Start]](repeating: [], count: contenders.count)
var floors: [Double] = []
for _ in 0..<repeats {
  // The contenders are interleaved, so that other work on the machine affects all of them.
  for (index, contender) in contenders.enumerated() {
    rounds[index].append(try start(contender.1))
  }
  floors.append(try floorTime())
}
print("Microseconds of CPU time in startHandler, medians of \(repeats); x none: the whole process.")
print("                                microsec   least  calls  faults  resident  x none")
for (index, contender) in contenders.enumerated() {
  print(row(contender.0, rounds[index], rounds[0], try systemCalls(contender.1)))
}
let ratio = median(zip(rounds[1], floors).map { $0.nanoseconds / max($1, 1) })
print(
  String(
    format:
      "the floor, plain C: %.0f microseconds (least %.0f); the handler takes %.1f times as long",
    median(floors) / 1000, (floors.min() ?? 0) / 1000, ratio))
print("goal of 4 times the floor: \(ratio <= 4 ? "met" : "missed")")
goal("startHandler", median(rounds[1].map { $0.nanoseconds / 1000 }), 500, "microseconds")

var steadyRounds: [(none: [Double], handler: [Double])] = []
for _ in 0..<min(repeats, 15) {
  steadyRounds.append((try steady([]), try steady([database])))
}
print("\nSteady state: nanoseconds of CPU time a call; medians of \(steadyRounds.count).")
print("                             no handler   handler  difference")
var medians: [Double] = []
var differences: [Double] = []
for (index, name) in names.enumerated() {
  let none = median(steadyRounds.map { $0.none[index] })
  medians.append(median(steadyRounds.map { $0.handler[index] }))
  differences.append(median(steadyRounds.map { $0.handler[index] - $0.none[index] }))
  print(
    name.padding(toLength: 28, withPad: " ", startingAt: 0)
      + String(format: " %10.0f %9.0f %11.0f", none, medians[index], differences[index]))
}
func figure(_ name: String) -> Int { names.firstIndex(of: name) ?? 0 }
goal("Annotation.set", medians[figure("Annotation.set")], 20, "nanoseconds")
goal(
  "Annotation.set of a text", medians[figure("Annotation.set of a text")], 20, "nanoseconds")
goal(
  "Annotation.set from 8 threads", medians[figure("Annotation.set, 8 threads")], 20, "nanoseconds")
goal("a text from 8 threads", medians[figure("text, 8 threads")], 20, "nanoseconds")
goal("a breadcrumb", medians[figure("breadcrumb")], 100, "nanoseconds")
goal("a breadcrumb from 8 threads", medians[figure("breadcrumb, 8 threads")], 100, "nanoseconds")
goal("withContext", medians[figure("withContext")], 150, "nanoseconds")
goal(
  "withContext from 8 threads", medians[figure("withContext, 8 threads")], 150, "nanoseconds")
goal("withContext in a task", medians[figure("withContext in a task")], 150, "nanoseconds")
goal("a throw that is recorded, more", differences[figure("throw")], 100, "nanoseconds")
goal("making a thread, more", differences[figure("making a thread")], 10_000, "nanoseconds")
goal("resident memory", differences[figure("KiB made dirty")], 200, "KiB")
