/// Who may import whom: the arrows of the architecture, written down a second time so that a change is seen.
enum Layers {
  /// For each module the modules directly below it; what those may import, it may import too.
  static let below: [String: [String]] = [
    "CSignalSafe": [],
    "CProcessEnds": ["CSignalSafe"],
    "CThreadStacks": ["CSignalSafe"],
    "IntermediateDump": ["CSignalSafe"],
    "PendingDumps": ["IntermediateDump"],
    "CrashHandler": ["PendingDumps"],
    "HangDetection": ["CrashHandler"],
    "ProcessSnapshot": ["IntermediateDump"],
    "Minidump": ["ProcessSnapshot"],
    "CSwiftDemangle": [],
    "Stackwalk": ["CSwiftDemangle", "ProcessSnapshot"],
    "CrashReport": ["Minidump", "Stackwalk"],
    "CrashReportDatabase": ["PendingDumps"],
    "CrashConverter": ["ProcessSnapshot", "Minidump", "CrashReport", "CrashReportDatabase"],
    "CrashReportUpload": ["CrashReportDatabase", "Minidump"],
    "PostmortemHandler": ["CProcessEnds", "CThreadStacks", "CrashHandler", "HangDetection"],
    "Postmortem": ["PostmortemHandler", "CrashConverter"],
    "PostmortemUpload": ["Postmortem", "CrashReportUpload"],
    "PostmortemTool": ["Postmortem", "CrashReportUpload"],
  ]

  /// Modules of the toolchain that any module may import.
  static let toolchain: Set<String> = ["Glibc", "Synchronization"]

  /// Modules of the toolchain that only some may.
  static let special: [String: Set<String>] = [
    "CrashReportUpload": ["Dispatch", "Foundation", "FoundationNetworking"],
    "HangDetection": ["Dispatch"],
    "PostmortemTool": ["Dispatch", "Foundation"],
  ]

  /// Everything of this package that a module may import.
  static func reachable(from module: String) -> Set<String> {
    var reached: Set<String> = []
    var waiting = below[module] ?? []
    while let next = waiting.popLast() {
      if reached.insert(next).inserted { waiting += below[next] ?? [] }
    }
    return reached
  }

  /// The imports of a source file that its module may not have.
  static func violations(in text: String, of module: String) -> [String] {
    let allowed = reachable(from: module).union(toolchain).union(special[module] ?? [])
    return imports(in: text).filter { !allowed.contains($0) }
  }

  /// The modules that a source file imports, a submodule as its module.
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
}
