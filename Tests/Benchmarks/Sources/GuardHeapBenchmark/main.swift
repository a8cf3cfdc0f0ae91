// Measures what the guard heap costs whole processes. The heap is preloaded, in front of libc's allocator or another one.
import Foundation

/// How a process runs: with these libraries preloaded, and these variables.
struct Setting {
  let name: String
  let preloaded: [String]
  var variables: [String: String] = [:]
}

/// The figures of one run, by their names.
typealias Figures = [String: Double]

struct Failure: Error, CustomStringConvertible {
  let description: String
}

let usage = """
  usage: guard-heap-benchmark server LIBRARY ROUNDS ALLOCATOR BUILT
         guard-heap-benchmark run LIBRARY ROUNDS ALLOCATOR COMMAND...
         guard-heap-benchmark victim VICTIM RUNS KIND

  LIBRARY is libGuardHeap.so. ALLOCATOR is a library with malloc, or - for libc's. BUILT contains Server and
  load-generator. `run` measures a command until it has ended, also by a signal.
  """

/// A process with its standard error or output in a pipe.
struct Running {
  let process = Process()
  let pipe = Pipe()

  init(_ command: [String], _ setting: Setting, readsErrors: Bool = false) throws {
    process.executableURL = URL(filePath: command[0])
    process.arguments = Array(command.dropFirst())
    var environment = ProcessInfo.processInfo.environment
    environment["SWIFT_BACKTRACE"] = "enable=no"
    environment["LD_PRELOAD"] =
      setting.preloaded.isEmpty ? nil : setting.preloaded.joined(separator: " ")
    process.environment = environment.merging(setting.variables) { $1 }
    process.standardOutput = readsErrors ? FileHandle.nullDevice : pipe
    process.standardError = readsErrors ? pipe : FileHandle.nullDevice
    try process.run()
  }

  /// Reads lines until one contains the prefix; returns the number after it.
  func number(after prefix: String) throws -> Int {
    var line: [UInt8] = []
    while let byte = try pipe.fileHandleForReading.read(upToCount: 1)?.first {
      if byte != 0x0A { line.append(byte); continue }
      let text = String(decoding: line, as: UTF8.self)
      if let range = text.range(of: prefix), let number = Int(text[range.upperBound...]) {
        return number
      }
      line = []
    }
    throw Failure(description: "no line with \"\(prefix)\"")
  }

  func rest() throws -> String {
    String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  }
}

/// The CPU time in seconds and the page faults of the children that have been waited for.
func children() -> (time: Double, faults: Int) {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
  let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
  let microseconds = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
  return (Double(seconds) + Double(microseconds) / 1e6, usage.ru_minflt)
}

/// A number in a file of /proc, in a line that begins with the name; or the number of lines.
func proc(_ process: Int32, _ file: String, _ name: String) throws -> Double {
  let text = try String(contentsOfFile: "/proc/\(process)/\(file)", encoding: .utf8)
  if name.isEmpty { return Double(text.split(separator: "\n").count) }
  for line in text.split(separator: "\n") where line.hasPrefix(name) {
    if let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
      .flatMap({ Double($0) })
    {
      return number
    }
  }
  throw Failure(description: "no \(name) in /proc/\(process)/\(file)")
}

/// The CPU time in nanoseconds of all threads that a process has had.
///
/// Source: clock_getcpuclockid(3).
func processTime(_ process: Int32) throws -> Double {
  var clock = clockid_t()
  var time = timespec()
  guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
    throw Failure(description: "no CPU time of process \(process)")
  }
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

func number(_ number: Double?, _ text: String) throws -> Double {
  guard let number else { throw Failure(description: "no number in \(text)") }
  return number
}

/// Runs a server for each setting at the same time, each with its own load, so that other work disturbs all alike.
func measureServers(_ built: String, _ settings: [Setting]) throws -> [Figures] {
  let plain = Setting(name: "", preloaded: [])
  let servers = try settings.enumerated().map { index, setting in
    try Running(
      [built + "/Server", directory.appending(path: "\(index)").path, "0", "--threads", "2"],
      setting, readsErrors: true)
  }
  let ports = try servers.map { try $0.number(after: "listening on 127.0.0.1:") }
  let before = try servers.map { try processTime($0.process.processIdentifier) }
  let loads = try ports.map { try Running([built + "/load-generator", "\($0)", "2", "8"], plain) }
  let lines = try loads.map { try $0.rest() }
  return try servers.indices.map { index in
    let (server, line) = (servers[index].process, lines[index])
    let id = server.processIdentifier
    let words = line.split(separator: " ")
    guard words.count > 7 else { throw Failure(description: "the load failed: \(line)") }
    let answers = try number(Double(words[0]), line)
    var figures: Figures = [
      "answers a second": try number(Double(words[6]), line),
      "CPU ns an answer": try (processTime(id) - before[index]) / answers,
      "resident KiB": try proc(id, "smaps_rollup", "Rss:"), "mappings": try proc(id, "maps", ""),
    ]
    server.terminate()
    let text = try servers[index].rest()
    server.waitUntilExit()
    guard server.terminationStatus == 0 else {
      throw Failure(description: "the server failed: \(text)")
    }
    // What the heap prints at exit.
    let statistics = text.split(separator: "\n").last { $0.hasPrefix("guard heap:") } ?? ""
    for part in statistics.split(separator: ",").dropFirst() {
      let words = part.split(separator: " ", maxSplits: 1)
      figures["heap: \(words[1])"] = Double(words[0])
      if settings[index].variables["GUARD_HEAP_RATE"] == "1" {
        figures["heap: \(words[1]), an answer"] = (Double(words[0]) ?? 0) / answers
      }
    }
    return figures
  }
}

func measureRun(_ command: [String], _ setting: Setting) throws -> Figures {
  let before = children()
  let start = ContinuousClock.now
  let running = try Running(command, setting)
  _ = try running.rest()
  running.process.waitUntilExit()
  let after = children()
  return [
    "wall us": start.duration(to: .now) / .microseconds(1),
    "CPU us": (after.time - before.time) * 1e6,
    "page faults": Double(after.faults - before.faults),
  ]
}

/// A quantile of the values.
func quantile(_ values: [Double], _ part: Double) -> Double {
  values.sorted()[min(values.count - 1, Int(Double(values.count) * part))]
}

/// Measures the settings in each round, in another order each time, and prints the ratios to the first one in the same
/// round.
func compare(_ settings: [Setting], rounds: Int, _ measure: ([Setting]) throws -> [Figures]) throws
{
  _ = try measure(settings)
  var all: [[Figures]] = Array(repeating: [], count: settings.count)
  for round in 0..<rounds {
    let order = settings.indices.map { ($0 + round) % settings.count }
    let figures = try measure(order.map { settings[$0] })
    for (place, index) in order.enumerated() { all[index].append(figures[place]) }
  }
  for name in Set(all.joined().flatMap(\.keys)).sorted() {
    print("\(name):")
    for (index, setting) in settings.enumerated() {
      let values = all[index].compactMap { $0[name] }
      guard !values.isEmpty else { continue }
      var text = String(format: "%12.1f", quantile(values, 0.5))
      if all[0][0][name] != nil {
        let ratios = zip(all[index], all[0]).map { ($0[name] ?? 0) / ($1[name] ?? 1) }
        let quartiles = [0.25, 0.5, 0.75].map { quantile(ratios, $0) }
        // The standard error of the median of normal values, estimated from the quartiles.
        let error = 0.929 * (quartiles[2] - quartiles[0]) / Double(ratios.count).squareRoot()
        text += "   x first, quartiles:"
        text += quartiles.map { String(format: "%8.4f", $0) }.joined()
        text += String(format: ", median ± %.4f", error)
      }
      print("  \(setting.name.padding(toLength: 27, withPad: " ", startingAt: 0))\(text)")
    }
  }
}

/// The parts of a victim's output that a pattern captures.
func captured(_ text: String, _ pattern: Regex<(Substring, Substring, Substring)>) -> [Substring]? {
  text.firstMatch(of: pattern).map { [$0.1, $0.2] }
}

/// Runs a victim, and counts how often the heap named the freed object's address and metadata.
func judge(_ victim: [String], runs: Int) throws {
  let setting = Setting(
    name: "", preloaded: [], variables: ["GUARD_HEAP_RATE": "1", "GUARD_HEAP_SLOTS": "512"])
  var (detected, right) = (0, 0)
  for _ in 0..<runs {
    let running = try Running(["/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"] + victim, setting)
    let text = try running.rest()
    running.process.waitUntilExit()
    guard let truth = captured(text, /expect ([0-9a-f]+) ([0-9a-f]+)/) else {
      throw Failure(description: "no victim: \(text)")
    }
    guard text.contains("guard heap:") else { continue }
    detected += 1
    let told = captured(
      text, /guard heap: use-after-free .* at 0x([0-9a-f]+), use .* began with 0x([0-9a-f]+)/)
    if told == truth { right += 1 }
  }
  print("\(victim.last ?? ""): \(runs) runs, \(detected) detected, \(right) told right")
}

let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: directory) }

let words = Array(CommandLine.arguments.dropFirst())
guard words.count > 3, let rounds = Int(words[2]), rounds > 0 else {
  print(usage)
  exit(64)
}
if words[0] == "victim", words.count == 4 {
  try judge([words[1], words[3]], runs: rounds)
  exit(0)
}
let next = words[3] == "-" ? [] : [words[3]]
/// The allocator alone, and the heap in front of it with some variables.
let without = ["without", "without, again"].map { Setting(name: $0, preloaded: next) }
func heap(_ name: String, _ variables: [String: String] = [:]) -> Setting {
  Setting(name: name, preloaded: [words[1]] + next, variables: variables)
}
let statistics = ["GUARD_HEAP_STATISTICS": "1"]
switch words[0] {
case "server" where words.count == 5:
  let heaps = [
    heap("heap, never sampling", ["GUARD_HEAP_RATE": "0"]), heap("heap, 1 in 4,096", statistics),
  ]
  try compare(without + heaps, rounds: rounds) {
    try measureServers(words[4], $0)
  }
  let all = try measureServers(
    words[4], [heap("", statistics.merging(["GUARD_HEAP_RATE": "1"]) { $1 })])
  for (name, value) in all[0].sorted(by: { $0.key < $1.key }) where name.hasSuffix("an answer") {
    print("with each allocation sampled, \(name): \(String(format: "%.2f", value))")
  }
case "run" where words.count > 4:
  // Each allocation is sampled, so that the slots fill up.
  let heaps = [
    heap("heap, never sampling", ["GUARD_HEAP_RATE": "0"]),
    heap("heap, 1 in 1", ["GUARD_HEAP_RATE": "1"]),
    heap("heap, 1 in 1, mprotect", ["GUARD_HEAP_RATE": "1", "GUARD_HEAP_PAGES": "protect"]),
  ]
  try compare(without + heaps, rounds: rounds) {
    try $0.map { try measureRun(Array(words[4...]), $0) }
  }
default:
  print(usage)
  exit(64)
}
