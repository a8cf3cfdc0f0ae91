internal import Foundation
public import Testing

/// Where the executables are that the tests run.
public enum BuildConfiguration: String, Sendable, CaseIterable, CustomTestStringConvertible {
  /// What `swift test` built beside the tests.
  case asTested
  /// Optimised, in a build folder of its own.
  case release

  public var testDescription: String { rawValue }
}

/// Finds built executables, and builds those that `swift test` does not.
public actor BuiltProducts {
  public static let shared = BuiltProducts()

  private var releaseBuilds: [String: Task<String, any Error>] = [:]

  /// The root of the package, found from this file's place in it.
  public static let packageRoot: String = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// The path of an executable product.
  ///
  /// The first call for a release product builds it, which takes minutes; `swift build` waits for the build folder's
  /// lock inside `swift test`, so the release build has a folder of its own, kept from run to run.
  public func executable(
    _ product: String, _ configuration: BuildConfiguration
  ) async throws -> String {
    switch configuration {
    case .asTested: return try Self.besideTests(product)
    case .release:
      if let build = releaseBuilds[product] { return try await build.value }
      let build = Task { try await Self.buildRelease(product) }
      releaseBuilds[product] = build
      return try await build.value
    }
  }

  private static func besideTests(_ product: String) throws -> String {
    let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let path = URL(fileURLWithPath: runner).deletingLastPathComponent().path + "/" + product
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw MissingProduct(path: path, output: "swift build makes it")
    }
    return path
  }

  private static func buildRelease(_ product: String) async throws -> String {
    let scratch = packageRoot + "/.build/variants/release"
    let path = scratch + "/release/" + product
    var build = try await swiftBuild(product, scratch: scratch)
    if build.end.exitCode != 0 {
      // An incremental build does not see every change of a module that another one re-exports, and then fails to link.
      try FileManager.default.removeItem(atPath: scratch)
      build = try await swiftBuild(product, scratch: scratch)
    }
    guard build.end.exitCode == 0, FileManager.default.isExecutableFile(atPath: path) else {
      throw MissingProduct(path: path, output: build.standardOutput + build.standardError)
    }
    // "release" is a link to a folder named after the platform; the kernel names modules by the folder.
    return URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }

  private static func swiftBuild(_ product: String, scratch: String) async throws -> ChildProcess {
    try await ChildProcess.run(
      "/usr/bin/env",
      [
        "swift", "build", "-c", "release", "--product", product, "--scratch-path", scratch,
        "--package-path", packageRoot,
      ], in: packageRoot, patience: 1500)
  }
}

/// An executable that is not there or could not be built.
public struct MissingProduct: Error, CustomStringConvertible {
  public let path: String
  public let output: String
  public var description: String { "no \(path): \(output)" }
}
