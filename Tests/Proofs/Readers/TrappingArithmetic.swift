internal import CrashTestSupport
internal import Foundation

/// The rule for code that reads dumps: no arithmetic on fixed-width integers that can trap, because their values
/// come from a file.
///
/// The compiler checks it: each module is type-checked together with deprecated operators and conversions, which
/// the compiler prefers to the standard library's. `Int` is not checked: it counts and indexes data in memory,
/// and a number from a file is converted to it only by `Int(exactly:)` or `Int(clamping:)`.
struct TrappingArithmetic {
  struct Violation: Equatable, CustomStringConvertible {
    let file: String
    let line: Int
    let what: String
    var description: String { "\(file):\(line): \(what)" }
  }

  /// A module, and the directories in it with code that reads dumps; none for the whole module.
  struct Module: Sendable, CustomStringConvertible {
    let name: String
    var directories: [String] = []
    /// False if the module has many conversions of constants of the C library.
    var checksConversions = true
    var description: String { name }
  }

  static let modules = [
    Module(name: "IntermediateDump", directories: ["Fields", "Reader"]),
    Module(name: "PendingDumps"),
    Module(name: "ProcessSnapshot"), Module(name: "Minidump"), Module(name: "Stackwalk"),
    Module(name: "CrashAnalysis"), Module(name: "CrashReport"), Module(name: "CrashReportDatabase"),
    Module(name: "CrashConverter"),
    Module(name: "PostmortemTool", checksConversions: false),
    Module(name: "CrashReportUpload", checksConversions: false),
  ]

  private static let mark = "trapping:"

  /// Declares the standard library's trapping operators again, as deprecated.
  private static func overloads(conversions: Bool) -> String {
    func deprecated(_ what: String) -> String {
      "@available(*, deprecated, message: \"\(mark) \(what)\")"
    }
    var text = ""
    for type in ["UInt64", "Int64", "UInt32", "Int32", "UInt16", "Int16", "UInt8", "Int8"] {
      text += "extension \(type) {\n"
      for sign in ["+", "-", "*"] {
        text += "  \(deprecated("\(sign) of \(type)"))\n"
        text += "  static func \(sign) (a: \(type), b: \(type)) -> \(type) { a &\(sign) b }\n"
        text += "  \(deprecated("\(sign)= of \(type)"))\n"
        text += "  static func \(sign)= (a: inout \(type), b: \(type)) { a = a &\(sign) b }\n"
      }
      if type.hasPrefix("I") {
        text += "  \(deprecated("- of \(type)"))\n"
        text += "  static prefix func - (a: \(type)) -> \(type) { 0 &- a }\n"
      }
      text += "}\n"
    }
    text += "\(deprecated("abs of Int64"))\nfunc abs(_ value: Int64) -> Int64 { value }\n"
    text += "extension Range where Bound == UInt64 {\n  \(deprecated("count of a range"))\n"
    text += "  var count: Int { 0 }\n}\n"
    guard conversions else { return text }
    for (target, sources) in [
      ("Int", ["UInt64", "UInt"]), ("Int64", ["UInt64", "UInt"]), ("UInt64", ["Int64", "Int32"]),
      ("UInt32", ["Int", "UInt64", "Int64", "Int32"]),
      ("Int32", ["Int", "UInt64", "Int64", "UInt32"]), ("UInt16", ["Int", "UInt64", "UInt32"]),
      ("UInt8", ["Int", "UInt64", "UInt32", "UInt16", "Int8"]),
    ] {
      for source in sources {
        text += "extension \(target) {\n  \(deprecated("\(target)(\(source))"))\n"
        text += "  init(_ value: \(source)) { self.init(truncatingIfNeeded: value) }\n}\n"
      }
    }
    for type in ["Int", "Int64", "UInt64", "UInt32", "Int32"] {
      text += "extension \(type) {\n  \(deprecated("\(type)(Double)"))\n"
      text += "  init(_ value: Double) { self = 0 }\n}\n"
    }
    return text
  }

  /// Type-checks a module's sources.
  static func violations(in module: Module) async throws -> [Violation] {
    let directory = BuiltProducts.packageRoot + "/Sources/" + module.name
    let names =
      FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
    let sources = names.filter { $0.hasSuffix(".swift") }
      .map { directory + "/" + $0 }
    return try await violations(
      in: sources, of: module.name, conversions: module.checksConversions
    ).filter { violation in
      module.directories.isEmpty
        || module.directories.contains { violation.file.hasPrefix(directory + "/\($0)/") }
    }
  }

  /// Type-checks files as one module of this package.
  static func violations(
    in sources: [String], of module: String, conversions: Bool = true
  ) async throws -> [Violation] {
    let directory = try SharedDirectory()
    try directory.put(Array(overloads(conversions: conversions).utf8), "Trapping.swift")
    let products = URL(fileURLWithPath: try BuiltProducts.besideTests("crash-lab"))
      .deletingLastPathComponent().path
    let maps = try FileManager.default.contentsOfDirectory(atPath: products)
      .map { "\(products)/\($0)/module.modulemap" }
      .filter { $0.contains(".build/") && FileManager.default.fileExists(atPath: $0) }
    // SwiftPM makes the package name from the directory's name in this way.
    let package = URL(fileURLWithPath: BuiltProducts.packageRoot).lastPathComponent.lowercased()
      .map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined()
    let features = [
      "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility",
      "NonisolatedNonsendingByDefault",
    ]
    var arguments = ["swiftc", "-typecheck", "-swift-version", "6", "-module-name", module]
    arguments += ["-package-name", package, "-I", products + "/Modules"]
    for map in maps { arguments += ["-Xcc", "-fmodule-map-file=\(map)"] }
    for feature in features { arguments += ["-enable-upcoming-feature", feature] }
    // Without this option, a file named main.swift would be compiled as top-level code.
    arguments += ["-parse-as-library"] + sources + [directory.path + "/Trapping.swift"]
    let child = try await ChildProcess.run(
      "/usr/bin/env", arguments, in: directory.path, patience: 600)
    guard child.end.exitCode == 0 else { throw NotCompiled(text: child.standardError) }
    return try found(in: child.standardError)
  }

  struct NotCompiled: Error {
    let text: String
  }

  /// The compiler's warnings, each once, without those for arithmetic between two literals in the source.
  private static func found(in text: String) throws -> [Violation] {
    var found: [Violation] = []
    for match in text.matches(of: /(?m)^(\/[^:]+):(\d+):(\d+): warning: .*trapping: (.*?)( \[.*)?$/)
    {
      let (path, line, column) = (String(match.1), Int(match.2) ?? 1, Int(match.3) ?? 1)
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(
        separator: "\n", omittingEmptySubsequences: false)
      let text = Array(lines[line - 1].utf8)
      let before = String(decoding: text.prefix(column - 1), as: UTF8.self)
      let behind = String(decoding: text.dropFirst(column - 1), as: UTF8.self)
      if before.contains(/(^|[^\w.])[0-9][0-9_]* $/), behind.contains(/^[-+*] [0-9]/) { continue }
      let violation = Violation(file: path, line: line, what: String(match.4))
      if !found.contains(violation) { found.append(violation) }
    }
    return found
  }
}
