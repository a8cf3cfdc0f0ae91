import CrashTestSupport
import Foundation

/// Programs that are not linked as SwiftPM links an executable.
enum LinkedProgram {
  static let isStaticPossible: Bool = {
    let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    guard
      let swift = directories.map({ "\($0)/swiftc" })
        .first(where: FileManager.default.isExecutableFile(atPath:))
    else { return false }
    // The libraries are next to the directory of programs.
    let root = URL(fileURLWithPath: swift).resolvingSymlinksInPath().deletingLastPathComponent()
      .deletingLastPathComponent()
    return FileManager.default.fileExists(atPath: root.path + "/lib/swift_static")
  }()

  /// The folders of C modules outside Sources.
  private static let folders = ["CCrashLab": "Examples/CrashLab/C"]

  static let modules = [
    "CSignalSafe", "IntermediateDump", "SwiftRuntime", "PendingDumps", "CrashHandler",
    "HangDetection",
    "CProcessEnds", "CSignalMasks",
    "CThreadStacks", "PostmortemHandler",
  ]

  /// Compiles and links one source with the objects of modules.
  ///
  /// - Parameter products: the directory of a build; nil for the one that the tests were built with.
  static func compile(
    _ source: String, _ options: [String], with modules: [String] = modules,
    of products: String? = nil, in directory: borrowing TemporaryDirectory
  ) async throws {
    let path = directory.path + "/main.swift"
    try source.write(toFile: path, atomically: false, encoding: .utf8)
    let products =
      try products
      ?? URL(fileURLWithPath: try BuiltProducts.besideTests("crash-lab"))
      .deletingLastPathComponent().path
    var arguments = ["-module-name", "Program", path, "-I", products + "/Modules"] + options
    for module in modules {
      let objects = "\(products)/\(module).build"
      let map = objects + "/module.modulemap"
      if FileManager.default.fileExists(atPath: map) {
        arguments += ["-Xcc", "-fmodule-map-file=" + map]
      }
      // An object file remains when its source is moved or deleted.
      let sources = (try? String(contentsOfFile: objects + "/sources", encoding: .utf8)) ?? ""
      let kept = Set(sources.split(separator: "\n").compactMap { $0.split(separator: "/").last })
      let folder = BuiltProducts.packageRoot + "/" + (folders[module] ?? "Sources/" + module) + "/"
      arguments += try FileManager.default.subpathsOfDirectory(atPath: objects)
        .filter { object in
          guard object.hasSuffix(".o") else { return false }
          let source = object.dropLast(2)
          return source.hasSuffix(".swift")
            ? kept.contains(source) : FileManager.default.fileExists(atPath: folder + source)
        }
        .sorted().map { "\(objects)/\($0)" }
    }
    try await run("swiftc", arguments, in: directory)
  }

  static func run(
    _ tool: String, _ arguments: [String], in directory: borrowing TemporaryDirectory
  ) async throws {
    let child = try await ChildProcess.run(
      "/usr/bin/env", [tool] + arguments, in: directory.path, patience: 300)
    guard child.end.exitCode == 0 else {
      throw OutsideToolError("\(tool): \(child.end)\n\(child.standardOutput)\(child.standardError)")
    }
  }
}
