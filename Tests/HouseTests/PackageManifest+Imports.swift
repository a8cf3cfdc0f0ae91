import CrashTestSupport
import Foundation

/// The imports that a module may have.
extension PackageManifest {
  /// Modules of the toolchain that any module may import.
  static let toolchain: Set<String> = ["Glibc", "Synchronization"]

  /// Modules of the toolchain that only some modules may import.
  static let special: [String: Set<String>] = [
    "CrashReportUpload": ["Dispatch", "FoundationEssentials"],
    "HangDetection": ["Dispatch"],
    "PostmortemTool": ["Dispatch", "FoundationEssentials"],
  ]

  /// The imports of a source file that are neither declared by its module nor part of the toolchain.
  func violations(in text: String, of module: String) -> [String] {
    let allowed = Self.toolchain.union(Self.special[module] ?? [])
      .union(dependencies(of: module).map(\.name))
    return Self.imports(in: text).filter { !allowed.contains($0) }
  }

  /// The modules that a Swift file imports before its first brace; a submodule counts as its module.
  static func imports(in text: String) -> [String] {
    let tokens = SwiftTokens(String(text.prefix { $0 != "{" })).tokens
    let kinds: Set<String> = [
      "struct", "class", "enum", "protocol", "func", "let", "var", "typealias",
    ]
    return tokens.indices.filter { tokens[$0].text == "import" }.compactMap { index in
      var name = index + 1
      if name < tokens.count, kinds.contains(tokens[name].text) { name += 1 }
      return name < tokens.count ? tokens[name].text : nil
    }
  }

  /// The names of all headers that the C files of a target include; a module's header is named after the module.
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
