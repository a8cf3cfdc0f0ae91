// swift-tools-version: 6.3
import PackageDescription

// A separate package, so that users of the library never build it.
//
//   swift run --package-path Tests/Benchmarks -c release capture-benchmark
//   swift run --package-path Tests/Benchmarks -c release start-benchmark
//   swift run --package-path Tests/Benchmarks -c release symbols-benchmark
//   swift run --package-path Tests/Benchmarks -c release conversion-benchmark
//   swift run --package-path Tests/Benchmarks -c release task-benchmark
//   swift run --package-path Tests/Benchmarks -c release server-benchmark .build/release
//
// Docs/Decisions/35-guard-heap.md has the commands for the trial of a guard heap.
let package = Package(
  name: "Benchmarks",
  // For LD_PRELOAD.
  products: [.library(name: "GuardHeap", type: .dynamic, targets: ["CGuardHeap"])],
  dependencies: [.package(name: "swift-postmortem", path: "../..")],
  targets: [
    // The minimal work of any capture inside a process, which shows how much of the measured time is due to the
    // machine.
    .target(name: "CLimit"),
    .executableTarget(
      name: "capture-benchmark",
      dependencies: ["CLimit", .product(name: "Postmortem", package: "swift-postmortem")],
      path: "Sources/CaptureBenchmark"),
    .executableTarget(
      name: "symbols-benchmark",
      dependencies: [
        .product(name: "Postmortem", package: "swift-postmortem"),
        .product(name: "postmortem", package: "swift-postmortem"),
      ],
      path: "Sources/SymbolsBenchmark"),
    .executableTarget(
      name: "conversion-benchmark",
      dependencies: [.product(name: "Postmortem", package: "swift-postmortem")],
      path: "Sources/ConversionBenchmark"),
    .executableTarget(
      name: "task-benchmark",
      dependencies: [.product(name: "Postmortem", package: "swift-postmortem")],
      path: "Sources/TaskBenchmark"),
    // Runs the example Server and the load-generator of the parent package, which must be built before.
    .executableTarget(name: "server-benchmark", path: "Sources/ServerBenchmark"),
    // The victim does not import Foundation, whose own start would hide the handler's.
    .executableTarget(
      name: "start-victim",
      dependencies: [.product(name: "PostmortemHandler", package: "swift-postmortem")],
      path: "Sources/StartVictim"),
    // Plain C without code of this package: the minimal cost of any handler's start.
    .executableTarget(name: "start-floor", path: "Sources/StartFloor"),
    .executableTarget(
      name: "start-benchmark", dependencies: ["start-victim", "start-floor"],
      path: "Sources/StartBenchmark"),
    // The trial of a sampling guard heap; no product of the parent package reaches it.
    .target(name: "CGuardHeap"),
    .target(name: "CAllocationPairs"),
    .executableTarget(
      name: "guard-heap-pairs", dependencies: ["CAllocationPairs"], path: "Sources/GuardHeapPairs"),
    .executableTarget(
      name: "guard-heap-trial", dependencies: ["CAllocationPairs", "CGuardHeap"],
      path: "Sources/GuardHeapTrial"),
    .executableTarget(
      name: "guard-heap-victim",
      dependencies: [
        "CGuardHeap", .product(name: "PostmortemHandler", package: "swift-postmortem"),
      ],
      path: "Sources/GuardHeapVictim"),
    .executableTarget(name: "guard-heap-benchmark", path: "Sources/GuardHeapBenchmark"),
  ],
  swiftLanguageModes: [.v6]
)
