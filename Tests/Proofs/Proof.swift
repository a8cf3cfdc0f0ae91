/// A group of suites that show one thing, by a name for the command line.
struct Proof: Sendable {
  /// What `--full` adds.
  enum Full: Sendable {
    /// The suites run more, told by the environment.
    case environment(name: String, value: String)
    /// The catalogue is run with these options, one after the other.
    case catalogue([[String]])
  }

  let name: String
  /// One line.
  let summary: String
  /// The types of its suites, in this target.
  let suites: [String]
  var full: Full?
}

extension Proof {
  /// In the order in which they run.
  ///
  /// `DoorTests` compares the suites with the files below this directory.
  static let all: [Proof] = [
    // The longest, much of which waits: beside the others.
    Proof(
      name: "catalogue", summary: "every way to die under every condition",
      suites: ["CatalogueTests"], full: .catalogue([["--full"], ["--kills", "1000"]])),
    Proof(
      name: "deaths", summary: "the same end as without us, one report, as gdb and LLDB see it",
      suites: [
        "FaithfulDeathTests", "StackOverflowTests", "SteadyStateTests", "HandlerStatusTests",
        "DescriptorTests", "LinkingTests",
      ]),
    Proof(
      name: "start", summary: "a start makes few system calls, whatever lies in the database",
      suites: ["StartCallTests"]),
    Proof(
      name: "handlers", summary: "handlers that were there before run and do what they did",
      suites: ["ChainingTests", "PreviousHandlerTests"]),
    Proof(
      name: "sanitizers", summary: "sanitizers still report, and the end is theirs",
      suites: ["SanitizerTests"]),
    Proof(
      name: "stacks", summary: "stacks, functions and lines are those of gdb and llvm-symbolizer",
      suites: ["StackTests", "TailCallTests", "LineTests", "LLVMComparisonTests"],
      full: .environment(name: "POSTMORTEM_LINES", value: "all")),
    Proof(
      name: "reports", summary: "messages, causes, tasks, signatures and annotations of each crash",
      suites: [
        "CauseTests", "TaskTests", "SignatureTests", "CrashSummaryTests", "TellingTests",
        "MissingNamesTests", "SwiftBacktraceTests", "ThrowReportTests", "RealNameTests",
        "VerdictTests",
      ],
      full: .environment(name: "POSTMORTEM_VERDICTS", value: "1000")),
    Proof(
      name: "journeys", summary: "from crash to cause by the commands of Docs/Journeys.md",
      suites: ["JourneyTests"]),
    Proof(
      name: "documentation",
      summary: "docc has no warning, each public symbol a page, and each block of code compiles",
      suites: ["DocumentationTests", "CodeBlockTests"]),
    Proof(
      name: "privacy", summary: "no form of a private report holds a planted secret; frames stay",
      suites: ["PlantedSecretsTests"]),
    Proof(
      name: "work",
      summary: "of 100,000 requests at once each crash shows its own context and breadcrumbs",
      suites: ["WorkTests"]),
    Proof(
      name: "servers",
      summary: "crashes of servers under load are reports that name the request; none is lost",
      suites: [
        "ServerCrashTests", "ServerEndTests", "PreforkTests", "HandlerOnlyTests", "DeploymentTests",
      ],
      full: .environment(name: "POSTMORTEM_SERVER_CRASHES", value: "1000")),
    Proof(
      name: "sentry",
      summary: "crashes as Sentry's schema and a real receiver of its protocol take them",
      suites: ["SentrySchemaTests", "SentryReceiverTests"]),
    Proof(
      name: "fleet",
      summary: "of a fleet in a crash loop a slow receiver gets every count, and no stampede",
      suites: ["FleetTests"],
      full: .environment(name: "POSTMORTEM_FLEET_HOSTS", value: "1000")),
    Proof(
      name: "release",
      summary: "the release script refuses what is not ready; a tag can be depended on",
      suites: ["ReleaseTests"],
      full: .environment(name: "POSTMORTEM_PACKAGE_BUILD", value: "1")),
    Proof(
      name: "platforms",
      summary:
        "programs build without Linux; the arm64 code compiles, and its assembly runs emulated",
      suites: ["UnsupportedBuildTests", "ARM64Tests"]),
    Proof(
      name: "breakpad",
      summary: "Breakpad's processor walks and names stacks by our text of symbols as we do",
      suites: ["BreakpadTests", "BreakpadTextTests"]),
    Proof(
      name: "readers", summary: "other readers see in whole and torn dumps what ours sees",
      suites: ["RealDumpTests", "OutsideReaderTests", "TornDumpTests"]),
    Proof(
      name: "export",
      summary: "databases and collectors read exports, and the documented queries are right",
      suites: ["ExportTests", "OddExportTests"],
      full: .environment(name: "POSTMORTEM_EXPORT_REPORTS", value: "200000")),
    Proof(
      name: "hostile",
      summary:
        "no dump or file ends what reads it or takes memory without bound, nor a start twice",
      suites: [
        "TrappingArithmeticTests", "HostileDumpTests", "HostileFileTests", "QuarantineTests",
      ],
      full: .environment(name: "POSTMORTEM_EXTREME_DUMPS", value: "200000")),
    Proof(
      name: "fuzzing", summary: "libFuzzer finds no input that ends or stalls a reader",
      suites: ["FuzzTests"],
      full: .environment(name: "POSTMORTEM_FUZZ_SECONDS", value: "1800")),
    Proof(
      name: "live-dumps", summary: "dumps of processes that live on or hang",
      suites: [
        "LiveDumpTests", "HangTests", "RequestedDumpTests", "StackChangeTests", "StormTests",
      ],
      full: .environment(name: "POSTMORTEM_STORMS", value: "1000")),
    Proof(
      name: "safety", summary: "crash code calls nothing unsafe: call graphs and poisoned runs",
      suites: ["CallGraphTests", "PlantedProgramTests", "PoisonedRunTests"]),
    Proof(
      name: "faults", summary: "each system call may fail, each section may fault or hang",
      suites: [
        "CallListTests", "ForgoneCallTests", "SummaryCallTests", "SectionFaultTests", "StopTests",
        "SystemCallFailureTests", "TakenFileTests", "TornCaptureTests",
      ],
      full: .environment(name: "POSTMORTEM_FAULTS", value: "all")),
    Proof(
      name: "system-calls", summary: "how many system calls a crash makes, by what it finds",
      suites: ["SystemCallTests"]),
    Proof(
      name: "root", summary: "dropped privileges, other users' files, PID namespaces",
      suites: [
        "PrivilegeTests", "FirstProcessTests", "PlaceTests", "ForeignFileTests",
        "ForeignLinkTests", "FirstProcessRunTests", "RootCommandTests", "OwnershipTests",
      ]),
    Proof(
      name: "ends", summary: "what is said of runs that ended without a dump is true",
      suites: ["EndTests", "MixedEndTests"],
      full: .environment(name: "POSTMORTEM_END_RUNS", value: "1100")),
    Proof(
      name: "races", summary: "processes that share a database lose no crash and double none",
      suites: ["RaceTests", "StressTests"],
      full: .environment(name: "POSTMORTEM_STRESS_SECONDS", value: "300")),
    Proof(
      name: "kills", summary: "a converter or uploader killed at any system call loses nothing",
      suites: ["KilledConverterTests", "KilledUploaderTests"],
      full: .environment(name: "POSTMORTEM_UPLOAD_KILLS", value: "all")),
  ]
}
