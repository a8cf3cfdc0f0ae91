import CrashTestSupport
import Foundation

/// The documentation of the modules in `.spi.yml`, built as one archive by the toolchain's docc.
struct DocumentationArchive {
  /// Lines of docc's output that do not report progress.
  let warnings: [String]
  /// The pages of symbols, as `Module Type.member` without parameters; overloads have the same name, once each.
  let symbols: Set<String>
  /// Titles of articles.
  let articles: Set<String>
  /// For each page of a module, the symbols that it links to, in the same form.
  let landings: [String: Set<String>]

  static let built = Task { try await build() }

  /// The modules that `.spi.yml` names.
  static func modules() throws -> [String] {
    let text = try String(
      contentsOfFile: BuiltProducts.packageRoot + "/.spi.yml", encoding: .utf8)
    return text.matches(of: /(?m)^ +- ([A-Z]\w+)$/).map { String($0.1) }
  }

  // MARK: - Building

  /// A target of the package and its direct dependencies, in the format of docc's plugin.
  private struct Description: Decodable {
    struct Target: Decodable {
      let name: String
      let target_dependencies: [String]?
    }
    let targets: [Target]
  }

  private static func build() async throws -> DocumentationArchive {
    let directory = try TemporaryDirectory()
    let docc = try Toolchain.path(of: "docc")
    let modules = try modules()
    let order = try await inOrder(modules, directory.path)
    var lines: [String] = []
    for (module, dependencies) in order {
      let graphs = try directory.subdirectory("graphs/" + module)
      try await run(
        "/usr/bin/env",
        [
          "swift", "symbolgraph-extract", "-module-name", module, "-target", target,
          "-minimum-access-level", "public", "-skip-synthesized-members",
          "-emit-extension-block-symbols", "-module-cache-path", directory.path + "/cache",
          "-output-dir", graphs,
        ] + BuiltModules.searchOptions(), directory.path)
      let catalogue = try await catalogue(of: module, directory.path)
      let output = try await run(
        docc,
        ["convert"] + (catalogue.map { [$0] } ?? []) + [
          "--fallback-display-name", module, "--fallback-bundle-identifier", module,
          "--additional-symbol-graph-dir", graphs, "--ide-console-output",
          "--enable-experimental-external-link-support",
          "--output-dir", "\(directory.path)/\(module).doccarchive",
        ]
          + dependencies.filter(modules.contains).flatMap {
            ["--dependency", "\(directory.path)/\($0).doccarchive"]
          }, directory.path)
      lines += output.split(separator: "\n").map(String.init).filter {
        $0.contains("warning:") || $0.contains("error:")
      }
    }
    let merged = directory.path + "/merged.doccarchive"
    lines += try await run(
      docc,
      ["merge"] + modules.map { "\(directory.path)/\($0).doccarchive" } + [
        "--output-path", merged, "--synthesized-landing-page-name", "swift-postmortem",
      ], directory.path
    ).split(separator: "\n").map(String.init).filter { $0.contains("warning") }
    return try DocumentationArchive(warnings: lines, at: merged + "/data/documentation")
  }

  /// A module's catalogue, which for `Postmortem` also has the pages of the guide; nil if the module has none.
  private static func catalogue(of module: String, _ directory: String) async throws -> String? {
    let path = "\(BuiltProducts.packageRoot)/Sources/\(module)/\(module).docc"
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard module == "Postmortem" else { return path }
    let copy = directory + "/Postmortem.docc"
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    try await run(
      "/usr/bin/env", ["bash", BuiltProducts.packageRoot + "/.ci/articles", copy], directory)
    return copy
  }

  #if arch(arm64)
    private static let target = "aarch64-unknown-linux-gnu"
  #else
    private static let target = "x86_64-unknown-linux-gnu"
  #endif

  /// The modules with their direct dependencies, each after the modules that it depends on.
  private static func inOrder(
    _ modules: [String], _ directory: String
  ) async throws -> [(module: String, dependencies: [String])] {
    let text = try await run(
      "/usr/bin/env",
      [
        "TMPDIR=" + directory, "swift", "package", "--package-path", BuiltProducts.packageRoot,
        "--scratch-path", directory + "/build", "describe", "--type", "json",
      ], directory)
    let description = try JSONDecoder().decode(Description.self, from: Data(text.utf8))
    var waiting = description.targets.filter { modules.contains($0.name) }.map {
      (module: $0.name, dependencies: ($0.target_dependencies ?? []).filter(modules.contains))
    }
    guard waiting.count == modules.count else {
      throw OutsideToolError(".spi.yml names \(modules), the package has \(waiting.map(\.module))")
    }
    var order: [(module: String, dependencies: [String])] = []
    while !waiting.isEmpty {
      let done = order.map(\.module)
      guard
        let next = waiting.firstIndex(where: { $0.dependencies.allSatisfy { done.contains($0) } })
      else { throw OutsideToolError("the modules of .spi.yml depend on each other in a cycle") }
      order.append(waiting.remove(at: next))
    }
    return order
  }

  @discardableResult
  private static func run(
    _ program: String, _ arguments: [String], _ directory: String
  ) async throws -> String {
    let child = try await ChildProcess.run(program, arguments, in: directory, patience: 300)
    guard child.end.exitCode == 0 else {
      throw OutsideToolError(
        "\(arguments.prefix(3).joined(separator: " ")): \(child.end)\n\(child.standardError)")
    }
    return child.standardOutput + (program.hasSuffix("docc") ? child.standardError : "")
  }

  // MARK: - Reading

  private struct Page: Decodable {
    struct Identifier: Decodable { let url: String }
    struct Metadata: Decodable {
      let title: String?
      let role: String?
      let symbolKind: String?
    }
    struct Topics: Decodable { let identifiers: [String] }
    let identifier: Identifier
    let metadata: Metadata
    let topicSections: [Topics]?
  }

  private init(warnings: [String], at directory: String) throws {
    self.warnings = warnings
    var symbols: Set<String> = []
    var articles: Set<String> = []
    var landings: [String: Set<String>] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: directory)
    where path.hasSuffix(".json") {
      let data = try Data(contentsOf: URL(filePath: directory + "/" + path))
      let page = try JSONDecoder().decode(Page.self, from: data)
      let isModule = page.metadata.symbolKind == "module"
      if isModule, !path.contains("/") {
        landings[page.metadata.title ?? ""] = Set(
          (page.topicSections ?? []).flatMap(\.identifiers).map { Self.name($0, title: nil) })
      } else if page.metadata.role == "article" {
        articles.insert(page.metadata.title ?? "")
      } else if page.metadata.symbolKind != nil {
        symbols.insert(Self.name(page.identifier.url, title: page.metadata.title))
      }
    }
    self.symbols = symbols
    self.articles = articles
    self.landings = landings
  }

  /// Converts a page's address to `Module Type.member`; operators have their names in the title only.
  static func name(_ url: String, title: String?) -> String {
    var parts =
      url.components(separatedBy: "/documentation/").last?
      .split(separator: "/").map(String.init) ?? []
    guard let module = parts.first else { return url }
    parts.removeFirst()
    // Extensions of another module's type have that module's name in their paths.
    if parts.count > 1, parts[0] != module, BuiltModules.names.contains(parts[0]) {
      parts.removeFirst()
    }
    if title?.hasPrefix("<") == true { parts[parts.count - 1] = "<" }
    let bare = parts.map { part in
      String(part.prefix { $0 != "(" }).replacing(/-([a-z0-9]+|swift\.[a-z.]+)$/, with: "")
    }
    return module + " " + bare.joined(separator: ".")
  }
}
