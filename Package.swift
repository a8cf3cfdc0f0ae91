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
  targets: [
    // The only calls that crash code may make, and the few lines that Swift cannot say.
    .target(name: "CSignalSafe"),
    // The on-disk contract between the handler and the converter, both halves.
    .target(name: "IntermediateDump", dependencies: ["CSignalSafe"]),
    // Installs the signal handlers and writes the dump. Sees nothing that reads dumps.
    .target(name: "CrashHandler", dependencies: ["CSignalSafe", "IntermediateDump"]),
    // A crashed process, neutral between what was captured and what is shown.
    .target(name: "ProcessSnapshot", dependencies: ["IntermediateDump"]),
    // The standard crash report file, both halves.
    .target(name: "Minidump", dependencies: ["IntermediateDump", "ProcessSnapshot"]),
    // The declarations of the demanglers that every Swift program already carries.
    .target(name: "CSwiftDemangle"),
    // From registers and stacks to frames with names.
    .target(name: "Stackwalk", dependencies: ["CSwiftDemangle", "ProcessSnapshot"]),
    // What a person reads of a crash.
    .target(name: "CrashReport", dependencies: ["ProcessSnapshot", "Stackwalk"]),

    .testTarget(
      name: "CrashHandlerTests", dependencies: ["CSignalSafe", "CrashHandler", "IntermediateDump"]),
    .testTarget(name: "StackwalkTests", dependencies: ["ProcessSnapshot", "Stackwalk"]),
    .testTarget(
      name: "CrashReportTests",
      dependencies: ["CrashReport", "IntermediateDump", "ProcessSnapshot", "Stackwalk"]),
  ],
  swiftLanguageModes: [.v6]
)

// C targets take no Swift settings.
for target in package.targets where !["CSignalSafe", "CSwiftDemangle"].contains(target.name) {
  target.swiftSettings = (target.swiftSettings ?? []) + sharedSettings
}
