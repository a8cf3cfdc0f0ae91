internal import Foundation
public import Testing

/// Where the executables are that the tests run.
public enum BuildConfiguration: String, Sendable, CaseIterable, CustomTestStringConvertible {
  /// Without optimisation, as `swift test` and `swift run proofs` build it.
  case asTested
  /// Optimised, in a build directory of its own.
  case release
  /// Without optimisation, with Swift's libraries inside the executable.
  case staticDebug
  /// Optimised, with Swift's libraries inside the executable.
  case staticRelease

  /// Debug and release with Swift's shared libraries.
  ///
  /// What tests that run the program need: how the libraries are linked changes which code the
  /// linker chooses, not how a process dies.
  public static let dynamic: [BuildConfiguration] = [.asTested, .release]

  public var testDescription: String { rawValue }

  /// Nil if it is built already.
  var variant: BuildVariant? {
    switch self {
    case .asTested: nil
    case .release: BuildVariant("release", "release", Self.optionsOfCI)
    case .staticDebug: BuildVariant("static-debug", "debug", ["--static-swift-stdlib"])
    case .staticRelease: BuildVariant("static-release", "release", ["--static-swift-stdlib"])
    }
  }

  /// The options with which `.ci/run` has built the release variant; others would build it again.
  private static var optionsOfCI: [String] {
    ProcessInfo.processInfo.environment["CI"] == "true" ? ["-Xswiftc", "-warnings-as-errors"] : []
  }
}

/// What the compiler can add to a program, and that has signal handlers of its own.
public enum Sanitizer: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case address
  case thread

  /// The name it gives itself in what it prints.
  public var name: String { self == .address ? "AddressSanitizer" : "ThreadSanitizer" }
  public var testDescription: String { name }

  var variant: BuildVariant {
    BuildVariant("sanitized-" + rawValue, "debug", ["--sanitize", rawValue])
  }
}

/// A build in a directory of its own below `.build/variants`, and what `swift build` is told.
struct BuildVariant: Sendable {
  let directory: String
  let configuration: String
  let arguments: [String]

  init(_ directory: String, _ configuration: String, _ arguments: [String]) {
    self.directory = directory
    self.configuration = configuration
    self.arguments = arguments
  }
}

/// Finds built executables, and for proofs builds those that their own build does not make.
public actor BuiltProducts {
  public static let shared = BuiltProducts()

  private var builds: [String: Task<String, any Error>] = [:]
  private var lastBuild: Task<String, any Error>?

  /// The root of the package, found from this file's place in it.
  public static let packageRoot: String = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// The path of an executable product.
  ///
  /// The first call for a variant of a product builds it, which takes minutes. Each variant has a directory of its own,
  /// kept from run to run. One build runs at a time.
  ///
  /// - Throws: `NeedsProofs` in `swift test` for all but `asTested`.
  public func executable(
    _ product: String, _ configuration: BuildConfiguration
  ) async throws -> String {
    guard let variant = configuration.variant else { return try Self.besideTests(product) }
    return try await executable(product, variant)
  }

  /// The path of an executable product with a sanitizer; built by the first call like the others.
  public func executable(_ product: String, _ sanitizer: Sanitizer) async throws -> String {
    try await executable(product, sanitizer.variant)
  }

  /// The path of an optimized executable product whose fields and captures have no descriptions; built by the first call.
  public func executableWithoutReflection(_ product: String) async throws -> String {
    try await executable(
      product,
      BuildVariant(
        "without-reflection", "release",
        ["-Xswiftc", "-Xfrontend", "-Xswiftc", "-disable-reflection-metadata"]))
  }

  /// The path of `ExtremeDumps` with libFuzzer and AddressSanitizer; built by the first call.
  ///
  /// - Parameter isOptimized: true for runs of many minutes: the build takes twice as long, and the program reads more
  ///   inputs in a second.
  public func fuzzer(isOptimized: Bool) async throws -> String {
    try await executable(
      "ExtremeDumps",
      // The compiler takes the last option alone, and the package manager puts two of its own in any order.
      BuildVariant(
        isOptimized ? "fuzzing" : "fuzzing-debug", isOptimized ? "release" : "debug",
        [
          "--sanitize", "fuzzer", "-Xswiftc", "-sanitize=fuzzer,address", "-Xcc",
          "-fsanitize=fuzzer-no-link,address", "-Xswiftc", "-DFUZZING",
        ]))
  }

  private func executable(_ product: String, _ variant: BuildVariant) async throws -> String {
    let key = variant.directory + "/" + product
    if let build = builds[key] { return try await build.value }
    let before = lastBuild
    let build = Task {
      _ = await before?.result
      return try await Self.build(product, variant)
    }
    builds[key] = build
    lastBuild = build
    return try await build.value
  }

  /// The path of an unoptimised executable: built with this one, by `swift test` or as a dependency of the
  /// proofs, or by `swift build` where the proofs are optimised.
  public static func besideTests(_ product: String) throws -> String {
    #if DEBUG
      let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let directory = URL(fileURLWithPath: runner).deletingLastPathComponent()
    #else
      let directory = URL(fileURLWithPath: packageRoot + "/.build/debug").resolvingSymlinksInPath()
    #endif
    let path = directory.path + "/" + product
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw MissingProduct(path: path, output: "swift build makes it")
    }
    return path
  }

  /// Lets a debug build compile each module as a whole.
  ///
  /// Without an index for editors, this takes two thirds of the processor time of a usual debug build, and nothing is
  /// built twice here.
  private static let wholeModules = [
    "-whole-module-optimization", "-no-emit-module-separately-wmo", "-num-threads", "2",
  ].flatMap { ["-Xswiftc", $0] }

  private static func build(_ product: String, _ variant: BuildVariant) async throws -> String {
    try Door.requireProofs("a build of \(product) as \(variant.directory)")
    let scratch = packageRoot + "/.build/variants/" + variant.directory
    let arguments =
      [
        "swift", "build", "-c", variant.configuration, "--product", product,
        "--scratch-path", scratch, "--package-path", packageRoot, "--disable-index-store",
      ] + (variant.configuration == "debug" ? wholeModules : []) + variant.arguments
    var build = try await ChildProcess.run(
      "/usr/bin/env", arguments, in: packageRoot, patience: 1500)
    if build.end.exitCode != 0 {
      // An incremental build after one that failed may link objects of two states.
      try FileManager.default.removeItem(atPath: scratch)
      build = try await ChildProcess.run(
        "/usr/bin/env", arguments, in: packageRoot, patience: 1500)
    }
    let path = scratch + "/" + variant.configuration + "/" + product
    guard build.end.exitCode == 0, FileManager.default.isExecutableFile(atPath: path) else {
      throw MissingProduct(path: path, output: build.standardOutput + build.standardError)
    }
    // The directory is a link to one named after the platform; the kernel names modules by that.
    return URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }
}

/// An executable that is not there or could not be built.
public struct MissingProduct: Error, CustomStringConvertible {
  public let path: String
  public let output: String
  public var description: String { "no \(path): \(output)" }
}
