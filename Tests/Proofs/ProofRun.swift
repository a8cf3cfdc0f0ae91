internal import CrashTestSupport
internal import Foundation

/// Runs the suites of one proof in a child process, so that a test that crashes ends only that process.
struct ProofRun: Sendable {
  let proof: Proof
  let extent: ProofExtent

  init(_ proof: Proof, _ extent: ProofExtent) {
    self.proof = proof
    self.extent = extent
  }

  func run() async throws -> ProofRecord {
    var record = ProofRecord(proof, extent)
    say("== \(record.name): \(record.summary)")
    let start = ContinuousClock.now
    if extent == .full, case .catalogue(let runs)? = proof.full {
      let before = Self.processorSeconds
      for arguments in runs {
        let tally = try await CatalogueTool.run(arguments)
        record.cases += tally.runs
        record.failed += tally.failed
      }
      record.processorSeconds = Self.processorSeconds - before
    }
    try runSuites(&record)
    record.seconds = start.duration(to: .now) / .seconds(1)
    if let obstacle = record.obstacle { say("✘ \(obstacle)") }
    return record
  }

  /// Runs the suites and reads their events from a FIFO.
  ///
  /// This process opens the FIFO for reading and writing, so that opening it does not block. A line that it
  /// writes itself marks the end.
  private func runSuites(_ record: inout ProofRecord) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/events"
    guard unsafe mkfifo(path, 0o600) == 0 else { throw SystemCallError("mkfifo", errno) }
    let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemCallError("open \(path)", errno) }
    let events = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let log = directory.path + "/output"
    try Data().write(to: URL(fileURLWithPath: log))
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [
      ProofsCommand.suitesOption, "--filter",
      "^proofs\\.(\(proof.suites.joined(separator: "|")))(/|$)", "--event-stream-version", "0",
      "--event-stream-output-path", path,
    ]
    var environment: [String: String] = [:]
    if extent == .sample { environment[ProofExtent.variable] = "1" }
    if extent == .full, case .environment(let name, let value)? = proof.full {
      environment[name] = value
    }
    // The user may have chosen a part of the full run, or a number of cases.
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { own, _ in own }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    process.terminationHandler = { _ in events.write(Data("\(Self.endMark)\n".utf8)) }
    try process.run()
    let areOver = try readEvents(from: events, into: &record)
    if !areOver { process.killAndWait() }
    process.waitUntilExit()
    record.obstacle = areOver ? obstacle(of: process, record) : standstill(of: record)
    if record.obstacle != nil, let text = FileManager.default.contents(atPath: log) {
      say(String(decoding: text.suffix(4000), as: UTF8.self))
    }
  }

  private func obstacle(of process: Process, _ record: ProofRecord) -> String? {
    if process.terminationReason == .uncaughtSignal {
      "the tests ended by signal \(process.terminationStatus)"
    } else if process.terminationStatus != 0, record.failed == 0 {
      "the tests ended with exit code \(process.terminationStatus)"
    } else if record.tests == 0, record.skipped.isEmpty {
      "none of its tests was run"
    } else {
      nil
    }
  }

  private func standstill(of record: ProofRecord) -> String {
    "nothing has begun or ended for \(Self.patience / 60) minutes; under way: "
      + record.underWay.joined(separator: ", ")
  }

  private static let endMark = "end of the events"
  /// The start of the line with the seconds of processor time.
  private static let processorMark = "seconds of processor time: "

  /// Writes a line with the processor time of this process, which ran suites, and of its children, to the event
  /// stream.
  ///
  /// Its parent could only measure the total of all of its children.
  static func tellProcessorTime(to arguments: [String]) {
    guard let option = arguments.firstIndex(of: "--event-stream-output-path"),
      arguments.indices.contains(option + 1),
      let events = FileHandle(forWritingAtPath: arguments[option + 1])
    else { return }
    events.write(Data("\(processorMark)\(processorSeconds)\n".utf8))
  }

  /// The seconds without an event after which a proof counts as hung, unless it is a full one.
  ///
  /// The catalogue is a single test, which takes 15 minutes on a busy machine.
  private static let patience: Int32 = 1800

  /// - Returns: false if the tests hang.
  private func readEvents(
    from events: FileHandle, into record: inout ProofRecord
  ) throws -> Bool {
    var pending = Data()
    while true {
      var entry = pollfd(fd: events.fileDescriptor, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&entry, 1, extent == .full ? -1 : Self.patience * 1000)
      if ready == 0 { return false }
      pending += events.availableData
      while let end = pending.firstIndex(of: 0x0A) {
        let line = String(decoding: pending[..<end], as: UTF8.self)
        pending = Data(pending[(end + 1)...])
        if line == Self.endMark { return true }
        if line.hasPrefix(Self.processorMark) {
          record.processorSeconds += Double(line.dropFirst(Self.processorMark.count)) ?? 0
          continue
        }
        let lines = record.take(line)
        // Prints all lines in one write, because another proof prints at the same time.
        if !lines.isEmpty { say(lines.map { "   " + $0 }.joined(separator: "\n")) }
      }
    }
  }

  /// The user and system time of this process and of all its descendants that have ended.
  private static var processorSeconds: Double {
    [RUSAGE_SELF, RUSAGE_CHILDREN].reduce(0) { sum, who in
      var usage = rusage()
      unsafe getrusage(__rusage_who_t(who.rawValue), &usage)
      return [usage.ru_utime, usage.ru_stime].reduce(sum) {
        $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
      }
    }
  }

  /// Writes a line at once, so that a run of an hour can be watched.
  private func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}
