internal import CrashAnalysis
internal import CrashConverter
internal import CrashReport
internal import CrashReportDatabase
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Postmortem

/// The subcommand `postmortem demo`.
enum DemoCommand: Subcommand {
  static let name = "demo"
  static let summary = "crash a process with several threads, and show its report"
  static let usage = ["[--keep] [--json]"]
  static let discussion = """
    Crashes a real process with several threads and shows its report.

    Runs this program again as a victim, which installs the handler, starts its threads and reads through a bad \
    pointer on a Dispatch worker thread. When the victim has died, the command processes its dump, as the program's \
    next start would, and shows the report. This takes one or two seconds. Finally the command deletes the temporary \
    files.
    """
  static let options: [CommandOption] = [
    CommandOption("--keep", "keep the temporary database and print its path"),
    .json("print the report as JSON"),
  ]
  static let operands = Operands.none

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let directory = try TemporaryDirectory(isKept: arguments.has("--keep"))
    // Prints a remark. With --json, it prints nothing, because standard output then contains only the report.
    func say(_ text: String) throws(ToolError) {
      if !arguments.has("--json") { try StandardOutput.print(text + "\n") }
    }
    try say(
      "1. A victim whose threads wait for work crashes (with Swift's own backtracer and core files off)."
    )
    let end = try crashVictim(database: directory.path)
    try say("   It died: \(end)")
    try say("2. Its next start processes the dump:")
    let processed = try processIntermediateDumps(database: directory.path)
    for dump in processed { try say("   \(dump)") }
    guard let first = processed.first, processed.count == 1,
      let stored = try ReportDatabase.open(directory.path).report(first.reportID)
    else {
      throw ToolError(
        path: directory.path, "the crash left \(processed.count) dumps instead of one")
    }
    try say("3. The report, as postmortem show prints it:\n")
    let report = CrashReport(
      snapshot: try CrashFile(at: stored.path).snapshot, symbolicating: true)
    if arguments.has("--json") {
      try StandardOutput.print(report.json(isIndented: true))
    } else {
      try StandardOutput.print(
        TextReport.text(
          of: report, width: Terminal.width, color: Terminal.usesColor,
          isForTerminal: Terminal.isOutput))
    }
    if arguments.has("--keep") {
      try say("\nThe minidump: \(stored.path.escapedForMessage)")
      try say("The database: \(directory.path.escapedForMessage)")
    }
  }

  /// Runs the victim to its end and returns how it ended; an end without a signal is an error.
  private static func crashVictim(database: String) throws -> String {
    let victim = try SpawnedProcess(
      OwnProgram.words + [DemoVictim.name, database], setting: OwnProgram.quietVariables,
      resetting: [SIGALRM])
    let end = victim.wait()
    guard let signal = end.signal else {
      throw ToolError(
        "the victim exited with status \(end.exitStatus ?? 0), not because of a signal")
    }
    guard signal != SIGALRM else {
      throw ToolError("the victim did not crash within \(DemoVictim.timeLimitSeconds) seconds")
    }
    return "signal \(signal) (\(unsafe String(cString: strsignal(signal))))"
  }
}

/// The process that `postmortem demo` crashes: this program itself, started again with a hidden subcommand.
enum DemoVictim {
  static let name = "demo-victim"
  /// An alarm ends the process after this many seconds.
  static let timeLimitSeconds: UInt32 = 30
  /// The number of idle threads, in addition to the main thread, a Dispatch worker, and threads that Dispatch
  /// creates.
  private static let idleThreadCount = 6

  static func run(_ words: [String]) throws {
    guard words.count == 1 else {
      throw ToolError.usage("only postmortem demo uses this", help: DemoCommand.help)
    }
    alarm(timeLimitSeconds)
    // The crash is intended, so it needs no core file.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    // The summary on standard error is turned off, because the command shows the whole report.
    var options = HandlerOptions()
    options.writesSummary = false
    try startHandler(
      database: words[0], product: "Postmortem demo", version: PostmortemTool.version,
      environment: "demo", annotations: ["purpose": "to be crashed"], options: options)
    let started = DispatchGroup()
    for number in 1...idleThreadCount {
      started.enter()
      DispatchQueue(label: "idle-\(number)").async { waitForWork(number, started) }
    }
    started.wait()
    DispatchQueue.global().async { handleRequest(17) }
    while true { pause() }
  }

  @inline(never) private static func waitForWork(_ number: Int, _ started: DispatchGroup) {
    try? Data("idle-\(number)".utf8).write(to: URL(fileURLWithPath: "/proc/thread-self/comm"))
    started.leave()
    while true { sleep(60) }
  }

  @inline(never) private static func handleRequest(_ number: Int) {
    let price = lookUpPrice(ofItem: number)
    try? StandardOutput.print("the price is \(price)\n")
  }

  @inline(never) private static func lookUpPrice(ofItem item: Int) -> Int {
    let entry = readEntry(at: UInt(item) + 7)
    return entry &* 2
  }

  /// Causes the crash: reads from address 24, like a program that reads a field through a null pointer.
  @inline(never) private static func readEntry(at offset: UInt) -> Int {
    guard let entry = unsafe UnsafePointer<Int>(bitPattern: offset & ~7) else { return 0 }
    return unsafe entry.pointee
  }
}

/// A private directory that is removed when this object is released, unless `isKept` is true.
private final class TemporaryDirectory {
  let path: String
  private let isKept: Bool

  /// Creates the directory in the system's directory for temporary files, with mode 0700.
  init(isKept: Bool) throws {
    self.isKept = isKept
    let base = FileManager.default.temporaryDirectory.path
    var template = Array("\(base)/postmortem-demo-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else {
      throw ToolError(path: base, ToolError.text(errno))
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    if !isKept { try? FileManager.default.removeItem(atPath: path) }
  }
}
