internal import Foundation
public import Testing

/// The builds of the executables that the tests run.
public enum BuildConfiguration: String, Sendable, CaseIterable, CustomTestStringConvertible {
  /// Without optimization, as `swift test` and `swift run proofs` build it.
  case asTested
  /// Optimized, in a separate build directory.
  case release
  /// `asTested` with Swift's libraries linked statically.
  case staticDebug
  /// `release` with Swift's libraries linked statically.
  case staticRelease

  /// Debug and release with Swift's shared libraries.
  ///
  /// These suffice for tests that run the program: static linking changes which code the linker selects, but not
  /// how a process crashes.
  public static let dynamic: [BuildConfiguration] = [.asTested, .release]

  public var testDescription: String { rawValue }
}

/// A sanitizer, which the compiler adds to a program, and which has its own signal handlers.
public enum Sanitizer: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case address
  case thread

  /// The sanitizer's name in its own output.
  public var name: String { self == .address ? "AddressSanitizer" : "ThreadSanitizer" }
  public var testDescription: String { name }

  var variant: BuildVariant {
    BuildVariant("sanitized-" + rawValue, "debug", ["--sanitize", rawValue])
  }
}

/// A build in a directory below `.build/variants`, and its options for `swift build`.
struct BuildVariant: Sendable {
  let directory: String
  let configuration: String
  let arguments: [String]

  init(_ directory: String, _ configuration: String, _ arguments: [String]) {
    self.directory = directory
    self.configuration = configuration
    self.arguments = arguments
  }

  /// The optimized build, with the options of `.ci/run`: other options would build it again.
  static var release: BuildVariant {
    let isCI = ProcessInfo.processInfo.environment["CI"] == "true"
    return BuildVariant("release", "release", isCI ? ["-Xswiftc", "-warnings-as-errors"] : [])
  }
}

/// Finds built executables, and builds further variants for proofs.
public actor BuiltProducts {
  public static let shared = BuiltProducts()

  private var builds: [String: Task<String, any Error>] = [:]
  private var lastBuild: Task<String, any Error>?

  /// The root of the package, found from the path of this file.
  public static let packageRoot: String = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// The path of an executable product.
  ///
  /// The first call for a variant of a product builds it, which takes minutes. Each variant has its own
  /// directory, which is kept from run to run. Only one build runs at a time.
  ///
  /// - Throws: `NeedsProofs` in `swift test` for every configuration except `asTested`.
  public func executable(
    _ product: String, _ configuration: BuildConfiguration
  ) async throws -> String {
    switch configuration {
    case .asTested: return try Self.besideTests(product)
    case .release: return try await executable(product, BuildVariant.release)
    case .staticDebug, .staticRelease:
      try Door.requireProofs("a link of \(product) as \(configuration)")
      let shared = configuration == .staticDebug ? .asTested : BuildConfiguration.release
      let built = try await executable(product, shared)
      return try await once("\(configuration)/\(product)") {
        try await Self.link(product, like: built, as: configuration)
      }
    }
  }

  /// The path of an executable product with a sanitizer; built by the first call like the others.
  public func executable(_ product: String, _ sanitizer: Sanitizer) async throws -> String {
    try await executable(product, sanitizer.variant)
  }

  /// The path of an optimized executable product without the descriptions of fields and captures; built by the
  /// first call.
  public func executableWithoutReflection(_ product: String) async throws -> String {
    try await executable(
      product,
      BuildVariant(
        "without-reflection", "release",
        ["-Xswiftc", "-Xfrontend", "-Xswiftc", "-disable-reflection-metadata"]))
  }

  /// The path of `ExtremeDumps` with libFuzzer and AddressSanitizer; built by the first call.
  ///
  /// - Parameter isOptimized: true for runs of many minutes: the build takes twice as long, and the program reads
  ///   more inputs per second.
  public func fuzzer(isOptimized: Bool) async throws -> String {
    try await executable(
      "ExtremeDumps",
      // The compiler uses only the last such option, and the package manager adds two in any order.
      BuildVariant(
        isOptimized ? "fuzzing" : "fuzzing-debug", isOptimized ? "release" : "debug",
        [
          "--sanitize", "fuzzer", "-Xswiftc", "-sanitize=fuzzer,address", "-Xcc",
          "-fsanitize=fuzzer-no-link,address", "-Xswiftc", "-DFUZZING",
        ]))
  }

  private func executable(_ product: String, _ variant: BuildVariant) async throws -> String {
    try await once(variant.directory + "/" + product) { try await Self.build(product, variant) }
  }

  /// Builds once, after the builds that were asked for before.
  private func once(
    _ key: String, _ make: @escaping @Sendable () async throws -> String
  ) async throws -> String {
    if let build = builds[key] { return try await build.value }
    let before = lastBuild
    let build = Task {
      _ = await before?.result
      return try await make()
    }
    builds[key] = build
    lastBuild = build
    return try await build.value
  }

  /// The path of an unoptimized executable.
  ///
  /// It was built with this program, by `swift test` or as a dependency of the proofs; if the proofs are
  /// optimized, `swift build` must have built it.
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

  /// Options that make a debug build compile each module as a whole.
  ///
  /// Without an index for editors, this takes two thirds of the processor time of a normal debug build, and no
  /// module is compiled twice here.
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
      // An incremental build after a failed one may link objects of two different states.
      try FileManager.default.removeItem(atPath: scratch)
      build = try await ChildProcess.run(
        "/usr/bin/env", arguments, in: packageRoot, patience: 1500)
    }
    let path = scratch + "/" + variant.configuration + "/" + product
    guard build.end.exitCode == 0, FileManager.default.isExecutableFile(atPath: path) else {
      throw MissingProduct(path: path, output: build.standardOutput + build.standardError)
    }
    // The directory is a link to one that is named after the platform; the kernel shows modules with the latter's
    // name.
    return URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }

  /// Links the objects of a built program again, with Swift's libraries inside.
  ///
  /// `swift build --static-swift-stdlib` compiles the same objects, and only links them in another way.
  ///
  /// - Parameter built: the program with Swift's shared libraries.
  private static func link(
    _ product: String, like built: String, as configuration: BuildConfiguration
  ) async throws -> String {
    let files = FileManager.default
    let folder = packageRoot + "/.build/variants/\(configuration)"
    let path = folder + "/" + product
    func date(_ path: String) throws -> Date? {
      try files.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }
    if let linked = try? date(path), let built = try date(built), linked > built { return path }
    try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // Another proof may link the same program. The driver writes a file that is named after the module beside the first
    // object.
    let new = path + ".\(getpid())"
    let main = product.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }
      .joined()
    let link = try await ChildProcess.run(
      "/usr/bin/env",
      [
        "swiftc", "-emit-executable", "-static-stdlib", "-lstdc++", "-Xlinker", "--defsym",
        "-Xlinker", "main=\(main)_main", "@\(built).product/Objects.LinkFileList", "-o", new,
        "-module-name", "Link\(getpid())",
      ] + (configuration == .staticRelease ? ["-Xlinker", "--gc-sections"] : []),
      in: folder, patience: 600)
    guard link.end.exitCode == 0 else {
      throw MissingProduct(path: path, output: link.standardOutput + link.standardError)
    }
    guard unsafe rename(new, path) == 0 else { throw SystemCallError("rename \(new)", errno) }
    return path
  }
}

/// An executable that does not exist or could not be built.
public struct MissingProduct: Error, CustomStringConvertible {
  public let path: String
  public let output: String
  public var description: String { "no \(path): \(output)" }
}
