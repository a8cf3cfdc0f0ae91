// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that users of the library never build it.
//
//   swift run --package-path Tests/Benchmarks -c release capture-benchmark
//   swift run --package-path Tests/Benchmarks -c release start-benchmark
//   swift run --package-path Tests/Benchmarks -c release symbols-benchmark
//   swift run --package-path Tests/Benchmarks -c release conversion-benchmark
//   swift run --package-path Tests/Benchmarks -c release task-benchmark
//   swift run --package-path Tests/Benchmarks -c release server-benchmark .build/release
let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "swift-postmortem", path: "../..")],
  targets: [
    // The least work that any capture in process has to do, for the hardware's part in the figures.
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
    // Runs the example Server and load-generator of the package above, built before.
    .executableTarget(name: "server-benchmark", path: "Sources/ServerBenchmark"),
    // No Foundation: its own start would hide the handler's.
    .executableTarget(
      name: "start-victim",
      dependencies: [.product(name: "PostmortemHandler", package: "swift-postmortem")],
      path: "Sources/StartVictim"),
    // Plain C, and nothing of the package: what any handler's start has to cost.
    .executableTarget(name: "start-floor", path: "Sources/StartFloor"),
    .executableTarget(
      name: "start-benchmark", dependencies: ["start-victim", "start-floor"],
      path: "Sources/StartBenchmark"),
  ],
  swiftLanguageModes: [.v6]
)
