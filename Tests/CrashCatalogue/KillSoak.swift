internal import CrashConverter
internal import CrashReportDatabase
public import CrashTestSupport
internal import Foundation
internal import Minidump
internal import PendingDumps
internal import ProcessSnapshot

/// Kills crash-lab at random moments of a capture, and counts how much of each dump was written.
public struct KillSoak {
  /// The results of a number of runs.
  public struct Tally: Sendable {
    public var runs = 0
    /// Runs that ended by their own signal before the kill.
    public var ended = 0
    /// Killed runs whose dump has its end mark.
    public var complete = 0
    /// Killed runs whose dump is truncated.
    public var torn = 0
    /// Truncated dumps with the crashing thread's registers and the top of its stack.
    public var tornWithStack = 0
    /// Runs that were killed before the first byte was written.
    public var empty = 0
    /// Descriptions of runs with other files than expected.
    public var failures: [String] = []

    public var line: String {
      let share =
        torn == 0 ? "-" : String(format: "%.1f %%", 100 * Double(tornWithStack) / Double(torn))
      return "\(runs) runs: \(ended) ended before the kill, \(complete) complete, \(empty) empty,"
        + " \(torn) torn, of which \(tornWithStack) (\(share)) hold the crashing thread with its"
        + " stack; \(failures.count) failed"
    }
  }

  /// The number of bytes above the stack pointer that a truncated dump must contain.
  ///
  /// A separate thread crashes, because the main thread's stack may have fewer bytes below the environment, which
  /// no dump contains.
  private static let leastStack = 2048

  private let executable: String
  private let threads: Int
  private let directory: SharedDirectory
  private var generator: SeededGenerator
  /// The nanoseconds from the announcement to the end of a run that is not killed.
  private var duration: UInt64 = 0
  public private(set) var tally = Tally()

  /// Measures how long a capture takes.
  ///
  /// - Parameters:
  ///   - threads: the number of the victim's threads.
  ///   - seed: determines the moments, as fractions of the measured time.
  public init(build: BuildConfiguration, threads: Int, seed: UInt64) async throws {
    executable = try await BuiltProducts.shared.executable("crash-lab", build)
    self.threads = threads
    directory = try SharedDirectory(inMemory: true)
    generator = SeededGenerator(seed: seed)
    guard unsafe mkfifo(directory.path + "/announcement", 0o600) == 0 else {
      throw SystemCallError("mkfifo", errno)
    }
    var durations: [UInt64] = []
    for _ in 0..<15 {
      let run = try self.run(killingAfter: nil)
      durations.append(run.duration)
      try FileManager.default.removeItem(atPath: directory.path + "/database")
    }
    duration = durations.sorted()[durations.count / 2]
  }

  /// Runs one victim, kills it, and checks its files.
  public mutating func runOnce() throws {
    let delay = UInt64.random(in: 0...duration + duration / 20, using: &generator)
    let run = try self.run(killingAfter: delay)
    defer { try? FileManager.default.removeItem(atPath: directory.path + "/database") }
    tally.runs += 1
    do {
      try count(run.end)
    } catch {
      tally.failures.append("\(delay) of \(duration) ns, \(run.end): \(error)")
    }
  }

  private mutating func count(_ end: ChildEnd) throws {
    let database = directory.path + "/database"
    let pending = database + "/" + PendingDumpName.directory
    let names = try FileManager.default.contentsOfDirectory(atPath: pending)
      .compactMap { PendingDumpName(fileName: $0) }
    let dumps = names.filter { $0.role == .locked || $0.role == .finished }
    guard dumps.count == 1, let dump = dumps.first else { throw Unexpected("dumps: \(names)") }
    let bytes = try Data(contentsOf: URL(fileURLWithPath: pending + "/" + dump.description))
    let processed = try processIntermediateDumps(database: database, storingSymbols: false)
    guard processed.count == 1, let outcome = processed.first?.outcome else {
      throw Unexpected("processed: \(processed)")
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: pending)
    guard left.isEmpty else { throw Unexpected("left behind: \(left)") }
    switch outcome.kind {
    case .complete:
      if end.signal == SIGKILL { tally.complete += 1 } else { tally.ended += 1 }
    case .ended:
      guard bytes.isEmpty, end.signal == SIGKILL else { throw Unexpected("\(outcome)") }
      tally.empty += 1
    case .torn:
      guard end.signal == SIGKILL else { throw Unexpected("\(outcome)") }
      tally.torn += 1
      if try holdsCrashingThread(database) { tally.tornWithStack += 1 }
    default: throw Unexpected("\(outcome)")
    }
  }

  private func holdsCrashingThread(_ database: String) throws -> Bool {
    guard let report = try CrashReportDatabase(path: database).reports().first else {
      throw Unexpected("no report")
    }
    let bytes = try Data(contentsOf: URL(fileURLWithPath: report.path))
    let snapshot = try MinidumpReader.snapshot(of: [UInt8](bytes))
    guard snapshot.exception?.signal == SIGSEGV else { throw Unexpected("no exception") }
    guard let thread = snapshot.crashedThread, thread.context != nil,
      let pointer = thread.stackPointer
    else { return false }
    return snapshot.memory.bytes(at: pointer, count: Self.leastStack) != nil
  }

  // MARK: - One victim

  private func run(killingAfter delay: UInt64?) throws -> (end: ChildEnd, duration: UInt64) {
    let fifo = directory.path + "/announcement"
    let reader = unsafe open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard reader >= 0 else { throw SystemCallError("open", errno) }
    defer { close(reader) }
    let child = try Spawn.start(
      executable,
      [
        "crash-lab", "null-read", "--on", "pthread", "--database", directory.path + "/database",
        "--threads", "\(threads - 1)", "--announce", "--no-summary",
      ], environment: ["SWIFT_BACKTRACE": "enable=no"], output: .file(fifo),
      errors: .file(directory.path + "/errors"))
    // After the announcement the test must not wait for anything: the kill follows within microseconds.
    var wanted = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
    while unsafe poll(&wanted, 1, 60_000) < 0, errno == EINTR {}
    let start = Self.now
    if wanted.revents & Int16(POLLIN) == 0 {
      kill(child, SIGKILL)
    } else if let delay {
      while Self.now - start < delay {}
      kill(child, SIGKILL)
    }
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
    let duration = Self.now - start
    if wanted.revents & Int16(POLLIN) == 0 { throw Unexpected("no announcement") }
    return (ChildEnd(status: status), duration)
  }

  /// Nanoseconds of the monotonic clock.
  private static var now: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}
