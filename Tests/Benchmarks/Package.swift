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
let package = Package(
  name: "Benchmarks",
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
  ],
  swiftLanguageModes: [.v6]
)
