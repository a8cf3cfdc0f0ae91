/// A group of suites that prove one claim, with a name for the command line.
struct Proof: Sendable {
  /// What `--full` adds to a proof.
  enum Full: Sendable {
    /// The suites run more cases, because of an environment variable.
    case environment(name: String, value: String)
    /// The catalogue runs once with each of these option lists.
    case catalogue([[String]])
  }

  /// A part of the package, see Docs/Design.md.
  enum Ring: Sendable {
    /// Handler, dump, conversion, report and database: CI checks it with every change.
    case core
    /// Modules that use the core, which never imports them, and other people's products: CI runs a sample, or the whole
    /// proof if a change can affect it.
    case outer
  }

  let name: String
  /// A summary in one line.
  let summary: String
  /// The type names of the proof's suites in this target.
  let suites: [String]
  /// Files and folders below the package's root; the proof checks changes to them.
  let covers: [String]
  var ring = Ring.core
  var full: Full?
}

extension Proof {
  /// All proofs, in the order in which they run.
  ///
  /// `DoorTests` compares the suites with the files below this directory.
  static let all: [Proof] = [
    // The longest proof, which waits much of the time: it runs at the same time as the others.
    Proof(
      name: "catalogue", summary: "every way to die under every condition",
      suites: ["CatalogueTests"],
      covers: [
        "Sources/CrashHandler", "Sources/CSignalSafe", "Sources/CThreadStacks",
        "Sources/CSignalMasks", "Sources/CProcessEnds", "Sources/IntermediateDump",
        "Sources/CrashConverter",
        "Sources/CrashAnalysis", "Sources/Stackwalk", "Examples/CrashLab",
        "Tests/CrashCatalogue",
      ], full: .catalogue([["--full"], ["--kills", "1000"]])),
    Proof(
      name: "deaths", summary: "the same end as without us, one report, as gdb and LLDB see it",
      suites: [
        "FaithfulDeathTests", "StackOverflowTests", "SteadyStateTests", "HandlerStatusTests",
        "DescriptorTests", "LinkingTests", "CrampedThreadTests",
      ],
      covers: [
        "Sources/CrashHandler", "Sources/CSignalSafe", "Sources/CThreadStacks",
        "Sources/CSignalMasks", "Sources/CProcessEnds", "Sources/Stackwalk",
        "Examples/CrashLab/Table",
      ],
      full: .environment(name: "POSTMORTEM_DEATHS", value: "all")),
    Proof(
      name: "alone",
      summary:
        "legal uses of signals, threads and processes: the same as alone; libc's functions too",
      suites: ["LegalUseTests", "ReplacedFunctionTests"],
      covers: [
        "Sources/CrashHandler", "Sources/CSignalSafe", "Sources/CThreadStacks",
        "Sources/CSignalMasks", "Sources/CProcessEnds", "Examples/CrashLab/C/uses",
        "Examples/CrashLab/C/functions",
      ]),
    Proof(
      name: "other-glibc",
      summary:
        "the same with the C libraries of Debian 13 and of unstable; what older kernels lack is not missed",
      suites: ["OtherGlibcTests", "OldestSystemTests", "OldKernelTests"],
      covers: ["Sources/CSignalMasks", "Sources/CSignalSafe", "Sources/CrashHandler"]),
    Proof(
      name: "arm64",
      summary: "crashes on an emulated arm64 machine end as alone, and are what gdb sees",
      suites: ["ARM64MachineTests"],
      covers: [
        "Sources/CSignalSafe", "Sources/CSignalMasks", "Sources/CThreadStacks",
        "Sources/CProcessEnds", "Sources/CrashHandler", "Sources/IntermediateDump",
        "Sources/Minidump", "Sources/Stackwalk", "Sources/CrashAnalysis",
        "Examples/CrashLab", "Tests/CrashCatalogue",
      ], full: .environment(name: "POSTMORTEM_ARM64", value: "all")),
    Proof(
      name: "idle", summary: "what waits wakes up no more often than it must, and never spins",
      suites: ["IdleTests"],
      covers: [
        "Sources/CrashReportUpload/Queue",
        "Sources/CrashReportUpload/ReportUploader.swift",
        "Sources/CUploadTransfer", "Sources/HangDetection", "Sources/CrashHandler/LiveDumps",
        "Sources/PostmortemTool/Commands/WatchCommand.swift",
        "Sources/PostmortemTool/Commands/RunCommand.swift",
      ]),
    Proof(
      name: "exits",
      summary: "a program that exits while it uploads ends as one that does not, and as soon",
      suites: ["UploadExitTests"],
      covers: [
        "Sources/CrashReportUpload/Queue", "Sources/CrashReportUpload/Body",
        "Sources/CrashReportUpload/ReportUploader.swift", "Sources/CUploadTransfer",
      ], ring: .outer),
    Proof(
      name: "uploads",
      summary:
        "whatever names a program exports, its uploader does not end it; uploads are HTTP/1.1",
      suites: ["UploadHostTests", "UploaderCrashTests", "HTTPVersionTests"],
      covers: [
        "Sources/CrashReportUpload/Libraries", "Sources/CrashReportUpload/Queue",
        "Sources/CrashReportUpload/Body/Gzip.swift", "Sources/CUploadTransfer",
      ], ring: .outer),
    Proof(
      name: "start", summary: "a start makes few system calls, whatever lies in the database",
      suites: ["StartCallTests"],
      covers: [
        "Sources/CrashHandler/Install", "Sources/CrashHandler/StartHandler.swift",
        "Sources/PendingDumps",
      ]),
    Proof(
      name: "handlers", summary: "handlers that were there before run and do what they did",
      suites: ["ChainingTests", "PreviousHandlerTests"],
      covers: ["Sources/CrashHandler/Signals", "Sources/CSignalSafe"]),
    Proof(
      name: "java", summary: "in a program with a Java virtual machine both handle what is theirs",
      suites: ["JavaMachineTests"],
      covers: [
        "Sources/CrashHandler/Signals", "Examples/CrashLab/Subcommands/JavaMachine.swift",
        "Examples/CrashLab/C/java.c",
      ], ring: .outer),
    Proof(
      name: "sanitizers", summary: "sanitizers still report, and the end is theirs",
      suites: ["SanitizerTests"],
      covers: [
        "Sources/CrashHandler/Install", "Sources/CrashHandler/Signals", "Sources/CThreadStacks",
        "Sources/CSignalMasks", "Sources/CProcessEnds",
      ]),
    Proof(
      name: "stacks", summary: "stacks, functions and lines are those of gdb and llvm-symbolizer",
      suites: ["StackTests", "ImageTests", "TailCallTests", "LineTests", "LLVMComparisonTests"],
      covers: [
        "Sources/Stackwalk", "Sources/CSwiftDemangle", "Sources/CrashHandler/Capture/Stacks",
      ],
      full: .environment(name: "POSTMORTEM_LINES", value: "all")),
    Proof(
      name: "cores",
      summary:
        "a core file makes the report that the dump of the same crash makes, with gdb's frames",
      suites: [
        "CoreReportTests", "ForeignCoreTests", "DebuggerCoreTests", "TaskSearchTests",
      ],
      covers: [
        "Sources/CoreFile", "Sources/SwiftRuntime", "Sources/CrashHandler/LiveDumps",
        "Examples/CrashLab/Subcommands/Tasks.swift", "Sources/Stackwalk",
        "Sources/PostmortemTool/Cores",
        "Docs/Guide/CoreFiles.md",
      ],
      full: .environment(name: "POSTMORTEM_CORES", value: "all")),
    Proof(
      name: "waits",
      summary: "owners and waiters of locks, and deadlocks, in hangs, captures and core files",
      suites: ["WaitingTests", "FalseDeadlockTests", "TruthTests"],
      covers: [
        "Sources/CrashAnalysis/Waits", "Sources/SwiftRuntime",
        "Sources/CrashHandler/Capture/Sections",
        "Sources/CoreFile", "Examples/CrashLab/Subcommands/Locks.swift",
        "Examples/CrashLab/Truth",
      ], full: .environment(name: "POSTMORTEM_WAITS", value: "all")),
    Proof(
      name: "reports", summary: "messages, causes, tasks, signatures and annotations of each crash",
      suites: [
        "CauseTests", "TaskTests", "SignatureTests", "LoggedReportTests", "MangledLogTests",
        "SummaryEndTests", "TellingTests",
        "MissingNamesTests", "SwiftBacktraceTests", "ThrowReportTests", "RealNameTests",
        "VerdictTests", "ReaderTests", "OneVerdictTests",
      ],
      covers: [
        "Sources/CrashAnalysis", "Sources/CrashReport", "Sources/Stackwalk",
        "Sources/ProcessSnapshot",
        "Sources/CrashHandler/Summary", "Sources/CrashHandler/Capture/Sections",
        "Sources/CrashHandler/Client", "Examples/CrashLab/Table",
      ], full: .environment(name: "POSTMORTEM_VERDICTS", value: "1000")),
    Proof(
      name: "objects",
      summary: "objects in registers and on the stack have the program's own names for them",
      suites: ["ObjectTests", "ObjectOracleTests", "PlantedObjectTests", "FreedObjectTests"],
      covers: [
        "Sources/CrashAnalysis/Analysis", "Sources/CrashAnalysis/Objects",
        "Sources/IntermediateDump/Objects",
        "Sources/CrashHandler/Capture/Sections/ObjectsSection.swift",
        "Examples/CrashLab/Subcommands/ObjectScene.swift",
        "Examples/CrashLab/Subcommands/ObjectKinds.swift",
        "Examples/CrashLab/Subcommands/FreedObjects.swift",
      ], full: .environment(name: "POSTMORTEM_OBJECTS", value: "all")),
    Proof(
      name: "journeys", summary: "from crash to cause by the commands of Docs/Guide/Journeys.md",
      suites: ["JourneyTests"],
      covers: [
        "Sources/CrashAnalysis", "Sources/CrashReport", "Sources/PostmortemTool",
        "Sources/Stackwalk",
        "Sources/CrashConverter", "Docs/Guide/Journeys.md",
      ]),
    Proof(
      name: "commands", summary: "the commands of a database, from real crashes to their uploads",
      suites: [
        "DatabaseCommandTests", "DatabaseNameTests", "ReportSelectionTests", "RunCommandTests",
        "SymbolDirectoryTests", "UploadCommandTests",
      ],
      covers: [
        "Sources/CrashConverter", "Sources/CrashReportDatabase", "Sources/CrashReportUpload",
        "Sources/PendingDumps", "Sources/PostmortemTool",
      ]),
    Proof(
      name: "tool",
      summary: "the tool on terminals, in pagers, and where its output is lost",
      suites: ["TerminalCommandTests", "PagerTests", "LostOutputTests", "DebugFileServerTests"],
      covers: ["Sources/PostmortemTool"], ring: .outer),
    Proof(
      name: "documentation",
      summary:
        "docc has no warning, each public symbol a page; blocks of code compile, and commands run",
      suites: ["DocumentationTests", "CodeBlockTests", "CommandBlockTests"],
      covers: [
        "Sources/Postmortem", "Sources/PostmortemHandler", "Sources/PostmortemUpload", "README.md",
        "Docs", ".ci/articles",
      ]),
    Proof(
      name: "privacy",
      summary: "no file and no form of a private report holds a planted secret; frames stay",
      suites: ["PlantedSecretsTests", "EveryFileTests", "LostTableTests"],
      covers: [
        "Sources/ProcessSnapshot", "Sources/CrashHandler/Capture", "Sources/CoreFile",
        "Sources/CrashConverter", "Sources/PostmortemTool", "Sources/CrashAnalysis",
        "Sources/CrashReport",
        "Sources/Minidump", "Sources/Stackwalk",
        "Sources/CrashReportUpload/Body", "Sources/CrashReportUpload/Sentry",
      ]),
    Proof(
      name: "work",
      summary: "of 100,000 requests at once each crash shows its own; those in flight are listed",
      suites: ["WorkTests", "InFlightTests"],
      covers: [
        "Sources/CrashHandler/Client", "Sources/CrashHandler/State/Client",
        "Sources/CrashHandler/Capture/Sections",
        "Sources/CSignalSafe",
      ]),
    Proof(
      name: "servers",
      summary: "crashes of servers under load are reports that name the request; none is lost",
      suites: [
        "ServerCrashTests", "ServerEndTests", "PreforkTests", "HandlerOnlyTests", "DeploymentTests",
      ],
      covers: [
        "Sources/CrashHandler/Client", "Sources/CrashHandler/Signals", "Sources/CrashConverter",
        "Sources/Postmortem",
        "Sources/PostmortemHandler", "Examples",
      ],
      full: .environment(name: "POSTMORTEM_SERVER_CRASHES", value: "1000")),
    Proof(
      name: "sentry",
      summary: "crashes as Sentry's schema and a real receiver of its protocol take them",
      suites: ["SentrySchemaTests", "SentryReceiverTests"],
      covers: [
        "Sources/CrashReportUpload/Sentry", "Sources/CrashReportUpload/Queue",
        "Sources/CrashReportUpload/Body",
      ], ring: .outer),
    Proof(
      name: "fleet",
      summary: "of a fleet in a crash loop a slow receiver gets every count, and no stampede",
      suites: ["FleetTests"],
      covers: [
        "Sources/CrashReportUpload/Queue", "Sources/CrashReportUpload/Body",
        "Sources/CrashReportUpload/Interface",
      ], ring: .outer,
      full: .environment(name: "POSTMORTEM_FLEET_HOSTS", value: "1000")),
    Proof(
      name: "release",
      summary:
        "the release script refuses what is not ready; a tag can be depended on, and with C++ too",
      suites: ["ReleaseTests", "InteroperabilityTests"],
      covers: [
        ".ci", "Package.swift", "CHANGELOG.md", "CONTRIBUTING.md",
        "Docs/Reference/Export.md", "Sources/CSignalSafe", "Sources/CSignalMasks",
        "Sources/CSwiftDemangle", "Sources/CUploadTransfer",
      ],
      full: .environment(name: "POSTMORTEM_PACKAGE_BUILD", value: "1")),
    Proof(
      name: "platforms",
      summary:
        "programs build without Linux, and crash under qemu-user; the arm64 code compiles, and runs there",
      suites: ["UnsupportedBuildTests", "EmulatedTests", "ARM64Tests"],
      covers: [
        "Package.swift", "Sources/CSignalSafe", "Sources/CrashHandler", "Sources/PostmortemStub",
        "Sources/Postmortem", "Sources/PostmortemHandler", "Sources/PostmortemUpload",
      ]),
    Proof(
      name: "breakpad",
      summary: "Breakpad's processor walks and names stacks by our text of symbols as we do",
      suites: ["BreakpadTests", "BreakpadTextTests"],
      covers: [
        "Sources/Stackwalk/Breakpad", "Sources/PostmortemTool/Commands/SymbolsCommand.swift",
      ], ring: .outer),
    Proof(
      name: "readers", summary: "other readers see in whole and torn dumps what ours sees",
      suites: ["RealDumpTests", "OutsideReaderTests", "TornDumpTests"],
      covers: ["Sources/Minidump", "Sources/ProcessSnapshot", "Sources/IntermediateDump"]),
    Proof(
      name: "export",
      summary: "databases and collectors read exports, and the documented queries are right",
      suites: ["ExportTests", "OddExportTests"],
      covers: [
        "Sources/PostmortemTool/Commands/DashboardCommand.swift",
        "Sources/PostmortemTool/Commands/ExportCommand.swift", "Sources/PostmortemTool/Export",
        "Sources/PostmortemTool/Overview",
        "Docs/Reference/Export.md",
      ], ring: .outer,
      full: .environment(name: "POSTMORTEM_EXPORT_REPORTS", value: "200000")),
    Proof(
      name: "hostile",
      summary:
        "no dump or file ends what reads it or takes memory without bound, nor a start twice",
      suites: [
        "TrappingArithmeticTests", "HostileDumpTests", "HostileFileTests", "QuarantineTests",
        "LargeCoreTests", "LongDumpTests", "DamagedBytesTests",
      ],
      covers: [
        "Sources/IntermediateDump/Reader", "Sources/ProcessSnapshot", "Sources/Minidump",
        "Sources/CoreFile",
        "Sources/Stackwalk", "Sources/CrashAnalysis", "Sources/CrashReport",
        "Sources/CrashReportDatabase",
        "Sources/PendingDumps", "Sources/DumpInspection", "Sources/PostmortemTool",
      ],
      full: .environment(name: "POSTMORTEM_EXTREME_DUMPS", value: "200000")),
    Proof(
      name: "fuzzing", summary: "libFuzzer finds no input that ends or stalls a reader",
      suites: ["FuzzTests"],
      covers: [
        "Sources/IntermediateDump/Reader", "Sources/ProcessSnapshot", "Sources/Minidump",
        "Sources/CoreFile", "Sources/Stackwalk", "Sources/CrashAnalysis", "Sources/CrashReport",
        "Sources/PendingDumps",
        "Sources/DumpInspection",
      ],
      full: .environment(name: "POSTMORTEM_FUZZ_SECONDS", value: "1800")),
    Proof(
      name: "live-dumps", summary: "dumps of processes that live on or hang",
      suites: [
        "LiveDumpTests", "HangTests", "RequestedDumpTests", "CaptureCommandTests",
        "StackChangeTests", "StormTests", "TickTests",
      ],
      covers: [
        "Sources/HangDetection", "Sources/Stackwalk", "Sources/CrashHandler/LiveDumps",
        "Sources/CrashHandler/Stopping",
        "Sources/CrashHandler/Capture", "Sources/CrashHandler/Signals",
        "Sources/PostmortemTool/Commands/CaptureCommand.swift",
      ],
      full: .environment(name: "POSTMORTEM_STORMS", value: "1000")),
    Proof(
      name: "safety", summary: "crash code calls nothing unsafe: call graphs and poisoned runs",
      suites: ["CallGraphTests", "CrashDepthTests", "PlantedProgramTests", "PoisonedRunTests"],
      covers: [
        "Sources/CrashHandler/Signals", "Sources/CrashHandler/Stopping",
        "Sources/CrashHandler/System", "Sources/CrashHandler/State", "Sources/CrashHandler/Values",
        "Sources/CrashHandler/Capture", "Sources/CrashHandler/Summary",
        "Sources/CrashHandler/Client", "Sources/CSignalSafe", "Sources/IntermediateDump/Writer",
        "Sources/IntermediateDump/Objects",
      ]),
    Proof(
      name: "faults", summary: "each system call may fail, each section may fault or hang",
      suites: [
        "CallListTests", "FilterAnswerTests", "ForgoneCallTests", "SummaryCallTests",
        "SectionFaultTests",
        "SlowCaptureTests", "StopTests", "SystemCallFailureTests", "TakenFileTests",
        "TornCaptureTests", "TrappedCallTests",
      ],
      covers: [
        "Sources/CrashHandler/Signals", "Sources/CrashHandler/Stopping",
        "Sources/CrashHandler/System", "Sources/CrashHandler/State", "Sources/CrashHandler/Values",
        "Sources/CrashHandler/Capture", "Sources/CrashHandler/Summary", "Sources/CSignalSafe",
        "Sources/IntermediateDump/Writer",
      ],
      full: .environment(name: "POSTMORTEM_FAULTS", value: "all")),
    Proof(
      name: "system-calls", summary: "how many system calls a crash makes, by what it finds",
      suites: ["SystemCallTests"],
      covers: [
        "Sources/CrashHandler/Signals", "Sources/CrashHandler/Stopping",
        "Sources/CrashHandler/System", "Sources/CrashHandler/State", "Sources/CrashHandler/Values",
        "Sources/CrashHandler/Capture", "Sources/CrashHandler/Summary", "Sources/CSignalSafe",
      ]),
    Proof(
      name: "root",
      summary:
        "dropped privileges, other users' files, PID namespaces, memory that is served, short or gone",
      suites: [
        "PrivilegeTests", "FirstProcessTests", "PlaceTests", "ForeignFileTests",
        "ForeignLinkTests", "FirstProcessRunTests", "RootCommandTests", "OwnershipTests",
        "VolumeGroupTests", "ChangingInodeTests", "DeploymentFilesTests",
        "DirectoryDoctorRootTests", "FullVolumeTests",
        "PlainVolumeTests", "ServedMemoryTests", "MemoryLimitTests", "GoneBinaryTests",
      ],
      covers: [
        "Sources/PendingDumps", "Sources/CrashReportDatabase", "Sources/CrashConverter",
        "Sources/CrashHandler/Install", "Sources/CrashHandler/Signals", "Sources/PostmortemTool",
        "Examples/Deployment", "Examples/Server",
      ], full: .environment(name: "POSTMORTEM_ROOT", value: "all")),
    Proof(
      name: "ends", summary: "what is said of runs that ended without a dump is true",
      suites: ["EndTests", "MixedEndTests"],
      covers: [
        "Sources/CrashConverter/Ends", "Sources/PendingDumps", "Sources/CProcessEnds",
        "Sources/CrashHandler/System/Files", "Sources/CrashHandler/Signals",
      ],
      full: .environment(name: "POSTMORTEM_END_RUNS", value: "1100")),
    Proof(
      name: "races", summary: "processes that share a database lose no crash and double none",
      suites: ["RaceTests", "StressTests"],
      covers: ["Sources/PendingDumps", "Sources/CrashConverter", "Sources/CrashReportDatabase"],
      full: .environment(name: "POSTMORTEM_STRESS_SECONDS", value: "300")),
    Proof(
      name: "kills",
      summary: "a converter or uploader killed at any system call, or refused one, loses nothing",
      suites: [
        "KilledConverterTests", "KilledUploaderTests", "RefusedCallTests", "ReplacedFileTests",
        "UnreadableFileTests",
      ],
      covers: [
        "Sources/PendingDumps", "Sources/CrashConverter", "Sources/CrashReportDatabase",
        "Sources/CUploadTransfer", "Sources/CrashReportUpload",
        "Sources/PostmortemTool/Terminal",
      ],
      full: .environment(name: "POSTMORTEM_UPLOAD_KILLS", value: "all")),
  ]
}
