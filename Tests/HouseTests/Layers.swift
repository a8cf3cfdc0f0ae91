import CrashTestSupport
import Foundation

/// The modules of this package and the arrows between them, as Package.swift declares them.
struct Layers: Decodable {
  let targets: [Target]
  let products: [Product]
  let traits: [PackageTrait]

  struct Target: Decodable {
    let name: String
    let type: String
    let path: String?
    let dependencies: [Dependency]
    let exclude: [String]

    /// Relative to the package's root.
    var directory: String { path ?? (type == "test" ? "Tests/" : "Sources/") + name }
    var isSource: Bool { directory.hasPrefix("Sources/") }
  }

  struct Dependency: Decodable {
    let name: String
    /// True where a trait leaves it out: such a module is linked for its symbols, and not imported.
    let isConditional: Bool

    private enum Key: CodingKey { case byName, target }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: Key.self)
      var parts = try values.nestedUnkeyedContainer(
        forKey: values.contains(.target) ? .target : .byName)
      name = try parts.decode(String.self)
      isConditional = try !parts.decodeNil()
    }
  }

  /// The one named "default" has those that are on unless they are left out.
  struct PackageTrait: Decodable {
    let name: String
  }

  struct Product: Decodable {
    let name: String
    let targets: [String]
  }

  /// Reads the manifest, by `swift package dump-package`.
  static func ofPackage() async throws -> Layers { try await reading.value }

  /// Reads what it declares for systems other than Linux with glibc.
  static func ofOtherSystems() async throws -> Layers {
    try await read(platform: "unsupported")
  }

  private static let reading = Task { try await read(platform: "linux") }

  private static func read(platform: String) async throws -> Layers {
    let directory = try TemporaryDirectory()
    let dump = try await ChildProcess.run(
      "/usr/bin/env",
      [
        // SwiftPM locks a file there for each scratch path, and leaves it.
        "TMPDIR=" + directory.path, "POSTMORTEM_PLATFORM=" + platform, "swift", "package",
        "--package-path", House.root, "--scratch-path", directory.path + "/build", "dump-package",
      ], in: directory.path)
    guard dump.end.exitCode == 0 else { throw Unreadable(reason: dump.standardError) }
    return try JSONDecoder().decode(Layers.self, from: Data(dump.standardOutput.utf8))
  }

  private struct Unreadable: Error { let reason: String }

  func dependencies(of module: String) -> [Dependency] {
    targets.first { $0.name == module }?.dependencies ?? []
  }

  /// All modules of this package that a module is linked with.
  func reachable(from module: String) -> Set<String> {
    var reached: Set<String> = []
    var waiting = dependencies(of: module).map(\.name)
    while let next = waiting.popLast() {
      if reached.insert(next).inserted { waiting += dependencies(of: next).map(\.name) }
    }
    return reached
  }

  // MARK: - Imports

  /// Modules of the toolchain that any module may import.
  static let toolchain: Set<String> = ["Glibc", "Synchronization"]

  /// Modules of the toolchain that only some may.
  static let special: [String: Set<String>] = [
    "CrashReportUpload": ["Dispatch", "Foundation"],
    "HangDetection": ["Dispatch"],
    "PostmortemTool": ["Dispatch", "Foundation"],
  ]

  /// The imports of a source file that its module does not declare and that are not the toolchain's.
  func violations(in text: String, of module: String) -> [String] {
    let allowed = Self.toolchain.union(Self.special[module] ?? [])
      .union(dependencies(of: module).map(\.name))
    return Self.imports(in: text).filter { !allowed.contains($0) }
  }

  /// The modules that a Swift file imports, a submodule as its module.
  static func imports(in text: String) -> [String] {
    let tokens = SwiftTokens(text).tokens
    let kinds: Set<String> = [
      "struct", "class", "enum", "protocol", "func", "let", "var", "typealias",
    ]
    return tokens.indices.filter { tokens[$0].text == "import" }.compactMap { index in
      var name = index + 1
      if name < tokens.count, kinds.contains(tokens[name].text) { name += 1 }
      return name < tokens.count ? tokens[name].text : nil
    }
  }

  /// The names of all headers that the C files of a target include, which for a module's header is
  /// the module's.
  static func includes(in target: Target) throws -> Set<String> {
    let directory = target.directory
    let root = House.root + "/" + directory
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: root)
    where (path.hasSuffix(".c") || path.hasSuffix(".h"))
      && !target.exclude.contains(where: { path.hasPrefix($0 + "/") })
    {
      let text = try House.text(directory + "/" + path)
      names.formUnion(text.matches(of: /#include "(\w+)\.h"/).map { String($0.1) })
    }
    return names
  }
}
