import Foundation

/// The modules of this package and their dependencies, as declared in Package.swift.
public struct PackageManifest: Decodable, Sendable {
  public let targets: [Target]
  public let products: [Product]
  public let traits: [PackageTrait]

  public struct Target: Decodable, Sendable {
    public let name: String
    public let type: String
    let path: String?
    public let dependencies: [Dependency]
    public let exclude: [String]
    /// The files and folders that are compiled, relative to the directory; nil for all.
    public let sources: [String]?

    /// The path relative to the package's root.
    public var directory: String { path ?? (type == "test" ? "Tests/" : "Sources/") + name }
    public var isSource: Bool { directory.hasPrefix("Sources/") }
  }

  public struct Dependency: Decodable, Sendable {
    public let name: String
    /// True if a trait can leave the dependency out: such a module is linked for its symbols, and not imported.
    public let isConditional: Bool

    private enum Key: CodingKey { case byName, target }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: Key.self)
      var parts = try values.nestedUnkeyedContainer(
        forKey: values.contains(.target) ? .target : .byName)
      name = try parts.decode(String.self)
      isConditional = try !parts.decodeNil()
    }
  }

  /// A trait; the one named "default" enables the traits that are on by default.
  public struct PackageTrait: Decodable, Sendable {
    public let name: String
  }

  public struct Product: Decodable, Sendable {
    public let name: String
    public let targets: [String]
  }

  /// Reads the manifest with `swift package dump-package`.
  public static func ofPackage() async throws -> PackageManifest { try await reading.value }

  /// Reads the targets that the manifest declares for systems other than Linux with glibc.
  public static func ofOtherSystems() async throws -> PackageManifest {
    try await read(platform: "unsupported")
  }

  private static let reading = Task { try await read(platform: "linux") }

  private static func read(platform: String) async throws -> PackageManifest {
    let directory = try TemporaryDirectory()
    let dump = try await ChildProcess.run(
      "/usr/bin/env",
      [
        // SwiftPM creates a lock file in TMPDIR for each scratch path, and never removes it.
        "TMPDIR=" + directory.path, "POSTMORTEM_PLATFORM=" + platform, "swift", "package",
        "--package-path", BuiltProducts.packageRoot, "--scratch-path", directory.path + "/build",
        "dump-package",
      ], in: directory.path)
    guard dump.end.exitCode == 0 else { throw Unreadable(reason: dump.standardError) }
    return try JSONDecoder().decode(PackageManifest.self, from: Data(dump.standardOutput.utf8))
  }

  private struct Unreadable: Error { let reason: String }

  public func dependencies(of module: String) -> [Dependency] {
    targets.first { $0.name == module }?.dependencies ?? []
  }

  /// All modules of this package that are linked into a module.
  public func reachable(from module: String) -> Set<String> {
    var reached: Set<String> = []
    var waiting = dependencies(of: module).map(\.name)
    while let next = waiting.popLast() {
      if reached.insert(next).inserted { waiting += dependencies(of: next).map(\.name) }
    }
    return reached
  }
}
