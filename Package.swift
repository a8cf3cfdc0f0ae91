// swift-tools-version: 6.3
import PackageDescription

/// What every Swift target is built with.
///
/// Applied in a loop at the end of this file, so that no target can forget it. Nothing here is an
/// unsafe flag: a package with those cannot be depended on. CI adds `-warnings-as-errors`.
let sharedSettings: [SwiftSetting] = [
  .strictMemorySafety(),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
  name: "swift-postmortem",
  products: [
    .library(name: "Postmortem", targets: ["Postmortem"]),
    .library(name: "PostmortemHandler", targets: ["PostmortemHandler"]),
    .library(name: "PostmortemUpload", targets: ["PostmortemUpload"]),
    .executable(name: "postmortem", targets: ["PostmortemTool"]),
    .executable(name: "crash-lab", targets: ["CrashLab"]),
  ],
  traits: [
    .trait(
      name: "AlternateStacks",
      description: """
        Defines pthread_create, which gives every thread an alternate signal stack, so that its \
        stack overflow can be captured. Without it, static executables need nothing special.
        """),
    .trait(
      name: "ProcessEnds",
      description: """
        Defines _exit, _Exit and daemon, which note that the process ends by its own will. Without \
        it, a run that was killed is reported only where other evidence shows it.
        """),
    .default(enabledTraits: ["AlternateStacks", "ProcessEnds"]),
  ],
  targets: [
    // The only calls that crash code may make, and the few lines that Swift cannot say.
    .target(name: "CSignalSafe"),
    // The on-disk contract between the handler and the converter, both halves.
    .target(name: "IntermediateDump", dependencies: ["CSignalSafe"]),
    // Installs the signal handlers and writes the dump. Sees nothing that reads dumps.
    .target(name: "CrashHandler", dependencies: ["CSignalSafe", "IntermediateDump"]),
    // Watches what may hang, and keeps a dump of it. Beside the handler because it needs Dispatch.
    .target(
      name: "HangDetection", dependencies: ["CSignalSafe", "CrashHandler", "IntermediateDump"]),
    // pthread_create, in front of libc's; the trait of the same purpose leaves it out.
    .target(name: "CThreadStacks", dependencies: ["CSignalSafe"]),
    // _exit, in front of libc's; the trait of the same purpose leaves it out.
    .target(name: "CProcessEnds", dependencies: ["CSignalSafe"]),
    // A crashed process, neutral between what was captured and what is shown.
    .target(name: "ProcessSnapshot", dependencies: ["IntermediateDump"]),
    // The standard crash report file, both halves.
    .target(name: "Minidump", dependencies: ["IntermediateDump", "ProcessSnapshot"]),
    // The declarations of the demanglers that every Swift program already carries.
    .target(name: "CSwiftDemangle"),
    // From registers and stacks to frames with names.
    .target(
      name: "Stackwalk", dependencies: ["CSwiftDemangle", "IntermediateDump", "ProcessSnapshot"]),
    // What a person reads of a crash.
    .target(
      name: "CrashReport", dependencies: ["IntermediateDump", "ProcessSnapshot", "Stackwalk"]),
    // Reports in Crashpad's layout on disk.
    .target(name: "CrashReportDatabase", dependencies: ["CSignalSafe", "IntermediateDump"]),
    // Pending dump to snapshot to minidump to database.
    .target(
      name: "CrashConverter",
      dependencies: [
        "CrashReport", "CrashReportDatabase", "IntermediateDump", "Minidump", "ProcessSnapshot",
        "Stackwalk",
      ]),
    // What a program imports that leaves conversion to another: the handler.
    .target(
      name: "PostmortemHandler",
      dependencies: [
        "CrashHandler", "HangDetection", "IntermediateDump",
        .target(name: "CProcessEnds", condition: .when(traits: ["ProcessEnds"])),
        .target(name: "CThreadStacks", condition: .when(traits: ["AlternateStacks"])),
      ]),
    // What users import: the handler and the conversion.
    .target(
      name: "Postmortem",
      dependencies: [
        "CrashConverter", "CrashHandler", "CrashReportDatabase", "IntermediateDump",
        "PostmortemHandler", "ProcessSnapshot",
      ]),
    // Reports to a collector. With what is above it the only one that links Foundation.
    .target(
      name: "CrashReportUpload",
      dependencies: ["CrashReportDatabase", "IntermediateDump", "Minidump"]),
    // What a program imports beside Postmortem to upload its reports.
    .target(
      name: "PostmortemUpload", dependencies: ["CrashHandler", "CrashReportUpload"]),
    // The `postmortem` command.
    .executableTarget(
      name: "PostmortemTool",
      dependencies: [
        "CrashConverter", "CrashHandler", "CrashReport", "CrashReportDatabase",
        "CrashReportUpload", "IntermediateDump", "Minidump", "Postmortem", "ProcessSnapshot",
        "Stackwalk",
      ]),

    // The README's usage, a service that uses the rest, and a victim that can die in many ways.
    .executableTarget(
      name: "MinimalCLI", dependencies: ["Postmortem"], path: "Examples/MinimalCLI"),
    .executableTarget(
      name: "ReportingService", dependencies: ["Postmortem", "PostmortemUpload"],
      path: "Examples/ReportingService"),
    .target(name: "CCrashLab", path: "Examples/CrashLab/C"),
    // What the victim does that HandlerOnlyVictim does too.
    .target(
      name: "CrashLabDeeds", dependencies: ["PostmortemHandler"], path: "Examples/CrashLab/Deeds"),
    .executableTarget(
      name: "CrashLab", dependencies: ["CCrashLab", "CrashLabDeeds", "Postmortem"],
      path: "Examples/CrashLab", exclude: ["C", "Deeds", "Module"]),

    .testTarget(name: "IntermediateDumpTests", dependencies: ["IntermediateDump"]),
    .testTarget(
      name: "CrashHandlerTests",
      dependencies: [
        "CSignalSafe", "CThreadStacks", "CrashHandler", "CrashTestSupport", "IntermediateDump",
      ]),
    .testTarget(name: "HangDetectionTests", dependencies: ["HangDetection"]),
    .testTarget(
      name: "PostmortemTests",
      dependencies: ["CrashTestSupport", "Postmortem", "PostmortemUpload"]),
    .testTarget(
      name: "ProcessSnapshotTests", dependencies: ["IntermediateDump", "ProcessSnapshot"]),
    .testTarget(
      name: "MinidumpTests",
      dependencies: ["CrashTestSupport", "IntermediateDump", "Minidump", "ProcessSnapshot"],
      exclude: ["VersionBefore"]),
    .testTarget(
      name: "StackwalkTests", dependencies: ["CrashTestSupport", "ProcessSnapshot", "Stackwalk"]),
    .testTarget(
      name: "CrashReportTests",
      dependencies: [
        "CrashReport", "CrashTestSupport", "IntermediateDump", "ProcessSnapshot", "Stackwalk",
      ]),
    .testTarget(
      name: "PostmortemToolTests",
      dependencies: [
        "CrashReport", "CrashReportDatabase", "CrashTestSupport", "HandlerOnlyVictim",
        "IntermediateDump", "PostmortemTool", "Stackwalk",
      ]),

    // Runs victims and debuggers for tests and proofs, and what both need; never a product.
    .target(
      name: "CrashTestSupport",
      dependencies: ["CrashReportDatabase", "IntermediateDump", "Minidump", "ProcessSnapshot"],
      path: "Tests/CrashTestSupport"),
    .testTarget(name: "CrashTestSupportTests", dependencies: ["CrashTestSupport"]),
    // Every way to die under every condition, and what each must leave; never a product.
    .target(
      name: "CrashCatalogue",
      dependencies: [
        "CrashConverter", "CrashReport", "CrashReportDatabase", "CrashTestSupport",
        "IntermediateDump", "Minidump", "ProcessSnapshot", "Stackwalk",
      ], path: "Tests/CrashCatalogue"),
    // One crash of each family, from the signal to the report.
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "CrashCatalogue", "CrashConverter", "CrashReport", "CrashReportDatabase",
        "CrashTestSupport", "HandlerOnlyVictim", "Minidump", "ProcessSnapshot",
      ]),
    // All checks that are long, or need a debugger, ptrace, root or a build of their own:
    // `swift run proofs`. Never a product. The programs are dependencies so that they are built.
    .executableTarget(
      name: "proofs",
      dependencies: [
        "CrashCatalogue", "CrashConverter", "CrashHandler", "CrashLab", "CrashReport",
        "CrashReportDatabase", "CrashTestSupport", "ExtremeDumps", "FaultInjector",
        "FoundationVictim", "HandlerOnlyVictim", "IntermediateDump", "Minidump", "PostmortemTool",
        "ProcessSnapshot", "Stackwalk",
      ], path: "Tests/Proofs", exclude: ["Safety/AllowedCalls.txt", "Safety/Poison"]),
    // A program with many threads in Foundation, whose stacks the tests compare.
    .executableTarget(
      name: "FoundationVictim", dependencies: ["Postmortem"], path: "Tests/FoundationVictim"),
    .testTarget(
      name: "HouseTests", dependencies: ["CrashTestSupport"], exclude: ["PublicInterface.txt"]),
    .testTarget(
      name: "CrashReportDatabaseTests",
      dependencies: ["CrashReportDatabase", "CrashTestSupport", "IntermediateDump"]),
    .testTarget(
      name: "CrashReportUploadTests",
      dependencies: [
        "CrashReportDatabase", "CrashReportUpload", "CrashTestSupport", "IntermediateDump",
      ], exclude: ["Server"]),
    .testTarget(
      name: "CrashConverterTests",
      dependencies: [
        "CrashConverter", "CrashReportDatabase", "CrashTestSupport", "ExtremeDumps",
        "HandlerOnlyVictim", "IntermediateDump", "Minidump", "ProcessSnapshot",
      ], exclude: ["VersionBefore"]),
    // Makes extreme and damaged dumps, and does with each whatever is done with dumps.
    .executableTarget(
      name: "ExtremeDumps",
      dependencies: [
        "CrashReport", "IntermediateDump", "Minidump", "ProcessSnapshot", "Stackwalk",
      ],
      path: "Tests/ExtremeDumps"),
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
  "CProcessEnds", "CSignalSafe", "CSwiftDemangle", "CThreadStacks", "CCrashLab", "FaultInjector",
].contains(target.name) {
  target.swiftSettings = (target.swiftSettings ?? []) + sharedSettings
}
