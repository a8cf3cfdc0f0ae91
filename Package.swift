// swift-tools-version: 6.3
import Foundation
import PackageDescription

/// The settings of every Swift target.
///
/// Applied in a loop at the end of this file, so that no target can lack them. None of them is an unsafe flag,
/// because no package can depend on a package with unsafe flags. CI adds `-warnings-as-errors`.
let sharedSettings: [SwiftSetting] = [
  .strictMemorySafety(),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Whether the crash handler itself is built, or its interface alone.
///
/// A manifest knows the host and not the target. Where they differ, `POSTMORTEM_PLATFORM` decides: `unsupported` for
/// Musl, `linux` for Linux with glibc built from another system (decision 6 in Docs/Decisions).
#if os(Linux)
  let isSupported = Context.environment["POSTMORTEM_PLATFORM"] != "unsupported"
#else
  let isSupported = Context.environment["POSTMORTEM_PLATFORM"] == "linux"
#endif

let package = Package(
  name: "swift-postmortem",
  platforms: [.macOS(.v13)],
  products: [
    .library(name: "Postmortem", targets: ["Postmortem"]),
    .library(name: "PostmortemHandler", targets: ["PostmortemHandler"]),
    .library(name: "PostmortemUpload", targets: ["PostmortemUpload"]),
    .executable(name: "postmortem", targets: ["PostmortemTool"]),
    .executable(name: "crash-lab", targets: ["CrashLab"]),
  ],
  traits: [
    // There is only one trait. SwiftPM before 6.4 passes several traits to the compiler in a different order each
    // time, and therefore rebuilds all of a package that has two (swiftlang/swift-package-manager#10525).
    .trait(
      name: "Interposition",
      description: """
        Defines functions that the linker finds before libc's: pthread_create, which gives every \
        thread an alternate signal stack, so that its stack overflow can be captured; _exit, _Exit \
        and daemon, which note that the process called them, so that a run that was killed is known \
        by that; pthread_sigmask and sigprocmask, which leave the signals of crashes open, and \
        posix_spawn, exec and abort because of it. Static executables then need a linker option: see Docs/Reference/Handler.md.
        """),
    .default(enabledTraits: ["Interposition"]),
  ],
  targets: [
    // MARK: - The core
    // Handler, dump, snapshot, minidump, stacks, report, database and conversion. Each module comes after those that
    // it imports, and none imports the outer ring (`RingTests`).

    // The only C calls that crash code may make, and the assembly that it needs.
    .target(name: "CSignalSafe"),
    // The dump file between handler and converter: schema, writer, reader.
    .target(name: "IntermediateDump", dependencies: ["CSignalSafe"]),
    // Finds the tasks of Swift concurrency in the memory of a process or of a core file.
    .target(name: "SwiftRuntime", dependencies: ["CSignalSafe", "IntermediateDump"]),
    // The names of pending files, run records and claims, and the checks whether their owners are alive.
    .target(name: "PendingDumps", dependencies: ["CSignalSafe", "IntermediateDump"]),
    // Installs the signal handlers and writes the dump. It knows no snapshot, minidump or converter.
    .target(
      name: "CrashHandler",
      dependencies: ["CSignalSafe", "IntermediateDump", "PendingDumps", "SwiftRuntime"]),
    // Watches parts of the program, and writes a dump if one of them hangs. It is a separate module, because it needs
    // Dispatch.
    .target(
      name: "HangDetection",
      dependencies: ["CSignalSafe", "CrashHandler", "IntermediateDump", "PendingDumps"]),
    // Replaces pthread_sigmask, sigprocmask and abort: the linker finds these functions before those of libc. It is
    // linked if the trait Interposition is enabled.
    .target(name: "CSignalMasks", dependencies: ["CSignalSafe"]),
    // Replaces pthread_create in the same way.
    .target(name: "CThreadStacks", dependencies: ["CSignalSafe"]),
    // Replaces _exit, _Exit and daemon in the same way.
    .target(name: "CProcessEnds", dependencies: ["CSignalSafe"]),
    // A crashed process as values, independent of file formats.
    .target(name: "ProcessSnapshot", dependencies: ["IntermediateDump"]),
    // The meaning of each key of a dump, how reports show it, and a dump's contents as text. It is a separate module,
    // so that programs that link only the handler do not contain these texts.
    .target(name: "DumpInspection", dependencies: ["IntermediateDump"]),
    // Microsoft's minidump format: writer and reader.
    .target(name: "Minidump", dependencies: ["IntermediateDump", "ProcessSnapshot"]),
    // The declarations of the demanglers that every Swift program already carries.
    .target(name: "CSwiftDemangle"),
    // From registers and stacks to frames with names.
    .target(
      name: "Stackwalk", dependencies: ["CSwiftDemangle", "IntermediateDump", "ProcessSnapshot"]),
    // ELF core files.
    .target(
      name: "CoreFile",
      dependencies: ["IntermediateDump", "ProcessSnapshot", "Stackwalk", "SwiftRuntime"]),
    // Finds what a crash, a hang or a requested dump is, as values.
    .target(
      name: "CrashAnalysis", dependencies: ["IntermediateDump", "ProcessSnapshot", "Stackwalk"]),
    // Writes reports as text, HTML and JSON.
    .target(
      name: "CrashReport",
      dependencies: [
        "CrashAnalysis", "DumpInspection", "IntermediateDump", "ProcessSnapshot", "Stackwalk",
      ]),
    // Reports in Crashpad's layout on disk.
    .target(
      name: "CrashReportDatabase",
      dependencies: ["CSignalSafe", "DumpInspection", "IntermediateDump", "PendingDumps"]),
    // Converts a pending dump: snapshot, minidump, database.
    .target(
      name: "CrashConverter",
      dependencies: [
        "CSignalSafe", "CrashAnalysis", "CrashReport", "CrashReportDatabase", "DumpInspection",
        "IntermediateDump", "Minidump", "PendingDumps", "ProcessSnapshot", "Stackwalk",
      ]),
    // The library for programs whose dumps another program converts: the handler alone.
    .target(
      name: "PostmortemHandler",
      dependencies: [
        "CrashHandler", "HangDetection", "IntermediateDump", "PendingDumps",
        .target(name: "CProcessEnds", condition: .when(traits: ["Interposition"])),
        .target(name: "CSignalMasks", condition: .when(traits: ["Interposition"])),
        .target(name: "CThreadStacks", condition: .when(traits: ["Interposition"])),
      ]),
    // The library for most programs: handler and conversion. It lists the modules whose symbols its documentation
    // links to, because a documentation build finds symbols in direct dependencies only.
    .target(
      name: "Postmortem",
      dependencies: [
        "CrashConverter", "CrashHandler", "CrashReportDatabase", "HangDetection",
        "IntermediateDump", "PendingDumps", "PostmortemHandler", "ProcessSnapshot",
      ]),
    // MARK: - The outer ring
    // These targets use the core, which never imports them.

    // Makes HTTP requests with libcurl, within limits.
    .target(name: "CUploadTransfer"),
    // Sends reports to a collector. It is the only library target that imports FoundationEssentials.
    .target(
      name: "CrashReportUpload",
      dependencies: [
        "CUploadTransfer", "CrashAnalysis", "CrashReport", "CrashReportDatabase",
        "IntermediateDump", "Minidump",
        "PendingDumps", "ProcessSnapshot", "Stackwalk",
      ]),
    // The library for programs that upload their reports.
    .target(
      name: "PostmortemUpload", dependencies: ["CrashHandler", "CrashReportUpload"]),
    // The `postmortem` command.
    .executableTarget(
      name: "PostmortemTool",
      dependencies: [
        "CoreFile", "CrashAnalysis", "CrashConverter", "CrashHandler", "CrashReport",
        "CrashReportDatabase",
        "CrashReportUpload", "DumpInspection", "IntermediateDump", "Minidump", "PendingDumps",
        "Postmortem", "ProcessSnapshot", "Stackwalk", "SwiftRuntime",
      ]),

    // MARK: - Examples and tests

    // The code of the README, and a service that uses the rest of the interface.
    .executableTarget(
      name: "MinimalCLI", dependencies: ["Postmortem"], path: "Examples/MinimalCLI"),
    .executableTarget(
      name: "ReportingService", dependencies: ["Postmortem", "PostmortemUpload"],
      path: "Examples/ReportingService"),
    // An HTTP server with crash reports, and with routes that crash it.
    .executableTarget(
      name: "Server", dependencies: ["Postmortem"], path: "Examples/Server",
      exclude: ["load.sh"]),
    // A parent that forks its workers, and a program without the code that reads dumps.
    .executableTarget(
      name: "PreforkServer", dependencies: ["Postmortem"], path: "Examples/PreforkServer"),
    .executableTarget(
      name: "HandlerOnly", dependencies: ["PostmortemHandler"], path: "Examples/HandlerOnly"),
    .target(name: "CCrashLab", path: "Examples/CrashLab/C"),
    // Code that CrashLab and HandlerOnlyVictim share.
    .target(
      name: "CrashLabDeeds", dependencies: ["PostmortemHandler"], path: "Examples/CrashLab/Deeds"),
    // The table of the kinds of crashes, for CrashLab and for the tests of the files that it leaves.
    .target(name: "CrashKinds", path: "Examples/CrashLab/Table"),
    .executableTarget(
      name: "CrashLab",
      dependencies: [
        "CCrashLab", "CSignalSafe", "CrashKinds", "CrashLabDeeds", "IntermediateDump",
        "PendingDumps", "Postmortem",
      ],
      path: "Examples/CrashLab", exclude: ["C", "Deeds", "Module", "Table"]),

    .testTarget(
      name: "IntermediateDumpTests",
      dependencies: ["CrashTestSupport", "DumpInspection", "IntermediateDump"]),
    .testTarget(
      name: "SwiftRuntimeTests", dependencies: ["IntermediateDump", "SwiftRuntime"]),
    .testTarget(
      name: "PendingDumpsTests",
      dependencies: [
        "CSignalSafe", "CrashTestSupport", "DumpInspection", "IntermediateDump", "PendingDumps",
      ]),
    .testTarget(
      name: "CrashHandlerTests",
      dependencies: [
        "CSignalSafe", "CThreadStacks", "CrashHandler", "CrashTestSupport", "IntermediateDump",
        "PendingDumps", "PostmortemHandler", "ProcessSnapshot", "Stackwalk", "SwiftRuntime",
      ]),
    .testTarget(name: "HangDetectionTests", dependencies: ["HangDetection"]),
    .testTarget(
      name: "PostmortemTests",
      dependencies: [
        "CSignalSafe", "CrashTestSupport", "Postmortem", "PostmortemUpload", "ProcessSnapshot",
      ]),
    .testTarget(
      name: "ProcessSnapshotTests",
      dependencies: [
        "CrashTestSupport", "DumpInspection", "IntermediateDump", "ProcessSnapshot",
      ]),
    .testTarget(
      name: "MinidumpTests",
      dependencies: ["CrashTestSupport", "IntermediateDump", "Minidump", "ProcessSnapshot"]),
    .testTarget(
      name: "CoreFileTests",
      dependencies: [
        "CoreFile", "CrashAnalysis", "CrashReport", "CrashTestSupport", "IntermediateDump",
        "ProcessSnapshot",
      ]),
    .testTarget(
      name: "StackwalkTests",
      dependencies: ["CrashTestSupport", "IntermediateDump", "ProcessSnapshot", "Stackwalk"]),
    .testTarget(
      name: "CrashReportTests",
      dependencies: [
        "CrashAnalysis", "CrashReport", "CrashTestSupport", "DumpInspection", "IntermediateDump",
        "ProcessSnapshot",
        "Stackwalk",
      ]),
    .testTarget(
      name: "PostmortemToolTests",
      dependencies: [
        "CrashAnalysis", "CrashReport", "CrashReportDatabase", "CrashReportUpload",
        "CrashTestSupport",
        "DumpInspection", "HandlerOnlyVictim", "IntermediateDump", "Minidump", "PendingDumps",
        "PostmortemTool", "ProcessSnapshot", "Stackwalk",
      ]),

    // Helpers of tests and proofs: they run victims and debuggers, and build fixtures. Never a product.
    .target(
      name: "CrashTestSupport",
      dependencies: [
        "CrashReportDatabase", "IntermediateDump", "Minidump", "PendingDumps", "ProcessSnapshot",
      ], path: "Tests/CrashTestSupport"),
    .testTarget(name: "CrashTestSupportTests", dependencies: ["CrashTestSupport"]),
    // Every kind of crash under every condition, with the expected report; never a product.
    .target(
      name: "CrashCatalogue",
      dependencies: [
        "CrashAnalysis", "CrashConverter", "CrashKinds", "CrashReport", "CrashReportDatabase",
        "CrashTestSupport",
        "IntermediateDump", "Minidump", "PendingDumps", "ProcessSnapshot", "Stackwalk",
      ], path: "Tests/CrashCatalogue"),
    // One crash of each family, from the signal to the report.
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "CrashAnalysis", "CrashCatalogue", "CrashConverter", "CrashReport", "CrashReportDatabase",
        "CrashTestSupport", "HandlerOnlyVictim", "IntermediateDump", "Minidump", "ProcessSnapshot",
        "Server", "Stackwalk",
      ]),
    // Sends requests to a server as fast as it answers; for Examples/Server/load.sh and the benchmark.
    .executableTarget(
      name: "load-generator", dependencies: ["CrashTestSupport"], path: "Tests/LoadGenerator"),
    // Checks that take long, or need a debugger, ptrace, root or a separate build: `swift run proofs`. Never a
    // product. The target depends on the programs that it runs, so that they are built.
    .executableTarget(
      name: "proofs",
      dependencies: [
        "CSignalSafe", "CoreFile", "CrashCatalogue", "CrashConverter", "CrashHandler", "CrashLab",
        "CrashAnalysis", "CrashReport", "CrashReportDatabase", "CrashTestSupport", "ExtremeDumps",
        "FaultInjector", "CrashReportUpload", "FoundationVictim", "HandlerOnly",
        "HandlerOnlyVictim", "IntermediateDump", "Minidump", "PendingDumps", "PostmortemTool",
        "PreforkServer",
        "ProcessSnapshot", "Server", "Stackwalk", "SwiftRuntime", "UploadingVictim",
      ], path: "Tests/Proofs",
      exclude: [
        "ARM64/init.sh", "ARM64/Packages.txt", "ARM64/prepare.sh", "ARM64/unpack.py",
        "Deaths/Java",
        "Export/Queries.py", "OtherGlibc/OldKernel.py", "OtherGlibc/Packages.txt",
        "OtherGlibc/old_auxv.c", "Platforms/ARM64",
        "Root/ChangingInodes.py", "Root/container.sh", "Safety/AllowedCalls.txt", "Safety/Poison",
        "Sentry/normalize.py", "Sentry/receiver.py", "Servers/SystemServiceFilter.py",
        "Uploads/http2.py",
      ]),
    // A program with many threads in Foundation, whose stacks the tests compare.
    .executableTarget(
      name: "FoundationVictim", dependencies: ["Postmortem"], path: "Tests/FoundationVictim"),
    // A program that uploads while it waits or ends.
    .executableTarget(
      name: "UploadingVictim", dependencies: ["Postmortem", "PostmortemUpload"],
      path: "Tests/UploadingVictim"),
    .testTarget(
      name: "HouseTests", dependencies: ["CrashTestSupport"], exclude: ["PublicInterface.txt"]),
    .testTarget(
      name: "CrashReportDatabaseTests",
      dependencies: [
        "CrashReportDatabase", "CrashTestSupport", "DumpInspection", "IntermediateDump",
        "PendingDumps",
      ]),
    .testTarget(
      name: "CrashReportUploadTests",
      dependencies: [
        "CrashAnalysis", "CrashReport", "CrashReportDatabase", "CrashReportUpload",
        "CrashTestSupport",
        "IntermediateDump", "Minidump", "PendingDumps", "ProcessSnapshot", "Stackwalk",
        "UploadingVictim",
      ], exclude: ["Server"]),
    .testTarget(
      name: "CrashConverterTests",
      dependencies: [
        "CrashAnalysis", "CrashConverter", "CrashReport", "CrashReportDatabase", "CrashTestSupport",
        "DumpInspection", "ExtremeDumps", "HandlerOnlyVictim", "IntermediateDump", "Minidump",
        "PendingDumps", "ProcessSnapshot", "Stackwalk",
      ]),
    // Makes extreme and damaged dumps, and reads, converts and prints each.
    .executableTarget(
      name: "ExtremeDumps",
      dependencies: [
        "CLibFuzzer", "CoreFile", "CrashAnalysis", "CrashConverter", "CrashReport",
        "CrashReportDatabase",
        "DumpInspection",
        "IntermediateDump", "Minidump", "PendingDumps", "ProcessSnapshot", "Stackwalk",
      ],
      path: "Tests/ExtremeDumps", exclude: ["LibFuzzer", "Corpora", "Findings"]),
    // The interface of libFuzzer, for builds of ExtremeDumps that use libFuzzer.
    .target(name: "CLibFuzzer", path: "Tests/ExtremeDumps/LibFuzzer"),
    // A program that links the handler alone, and shares databases with programs that convert.
    .executableTarget(
      name: "HandlerOnlyVictim", dependencies: ["CrashLabDeeds", "PostmortemHandler"],
      path: "Tests/HandlerOnlyVictim"),
    // Disturbs a victim's crash handler from outside, by ptrace.
    .executableTarget(name: "FaultInjector", path: "Tests/FaultInjector"),
  ],
  swiftLanguageModes: [.v6]
)

// C targets take no Swift settings.
for target in package.targets
where ![
  "CCrashLab", "CLibFuzzer", "CProcessEnds", "CSignalMasks", "CSignalSafe", "CSwiftDemangle",
  "CThreadStacks",
  "CUploadTransfer", "FaultInjector",
].contains(target.name) {
  target.swiftSettings = (target.swiftSettings ?? []) + sharedSettings
}

if !isSupported {
  // A library module consists of its folder `Interface`, whose files need no Linux, and of its folder in
  // `Sources/PostmortemStub`, which has the rest of the module's interface. All files of these modules need no Linux.
  let wholeModules = ["MinimalCLI", "PostmortemHandler", "PostmortemUpload", "ReportingService"]
  let root = Context.packageDirectory + "/Sources"
  let files = FileManager.default.subpaths(atPath: root) ?? []
  package.products = package.products.filter { $0 is Product.Library }
  package.targets = package.targets.filter { target in
    if wholeModules.contains(target.name) { return true }
    let sources = ["\(target.name)/Interface", "PostmortemStub/\(target.name)"]
      .filter(files.contains)
    target.path = "Sources"
    target.sources = sources
    // The excluded files are named one by one, because SwiftPM warns about files that are neither sources nor
    // excluded.
    target.exclude = files.filter { file in
      file.contains(".") && !sources.contains { file.hasPrefix($0 + "/") }
    }
    return !sources.isEmpty
  }
  let names = package.targets.map(\.name)
  for target in package.targets {
    target.dependencies = target.dependencies.filter { dependency in
      if case .byNameItem(let name, _) = dependency { names.contains(name) } else { false }
    }
  }
}
