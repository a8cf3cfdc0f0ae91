internal import CrashTestSupport
internal import Foundation

/// Selects the tests and proofs that check a change, by the changed files.
struct ProofSelection {
  /// The selected proofs, in the order of the table.
  let proofs: [Proof]
  /// Other proofs of the outer ring: they cover modules that depend on a changed one.
  let onTop: [Proof]
  /// The test targets of `swift test`; nil for all of them.
  let testTargets: [String]?

  /// A change to one of these can affect everything.
  private static let common = [
    ".ci", "Package.swift", "Tests/CrashTestSupport", "Tests/Proofs/Proof", "Tests/FaultInjector",
  ]

  /// - Parameter paths: paths relative to the package's root. A deleted file is not an error.
  init(for paths: [String]) async throws {
    guard !paths.contains(where: { Self.isCommon($0) }) else {
      (proofs, onTop, testTargets) = (Proof.all, [], nil)
      return
    }
    let manifest = try await PackageManifest.ofPackage()
    onTop = Proof.all.filter { proof in
      proof.ring == .outer && !paths.contains { proof.isAbout($0) }
        && paths.contains { proof.standsOn($0, in: manifest) }
    }
    proofs = Proof.all.filter { proof in paths.contains { proof.isAbout($0) } }
    var targets: Set<String> = []
    for path in paths { try targets.formUnion(Self.testTargets(for: path)) }
    testTargets = targets.sorted()
  }

  /// The commands that run the selected tests and proofs.
  var commands: [String] {
    var commands: [String] = []
    if let targets = testTargets {
      if !targets.isEmpty {
        commands.append("swift test --filter '^(\(targets.joined(separator: "|")))\\.'")
      }
    } else {
      commands.append("swift test")
    }
    if proofs.count == Proof.all.count {
      commands.append("swift run proofs")
    } else if !proofs.isEmpty {
      commands.append("swift run proofs " + proofs.map(\.name).joined(separator: " "))
    }
    if !onTop.isEmpty {
      commands.append(
        "swift run proofs " + onTop.map(\.name).joined(separator: " ")
          + "  # stand on it: CI runs these too")
    }
    return commands
  }

  /// The proofs of the outer ring that the changes since a commit can affect.
  ///
  /// - Parameter base: a git commit. If this clone does not have it, or it has no common ancestor with the newest
  ///   commit here, all of them are selected.
  static func outerProofs(since base: String) async throws -> [Proof] {
    let outer = Proof.all.filter { $0.ring == .outer }
    let root = BuiltProducts.packageRoot
    // A moved file counts as two files: its old path may be covered by another proof.
    let changes = try await ChildProcess.run(
      "/usr/bin/env", ["git", "-C", root, "diff", "--name-only", "--no-renames", base + "...HEAD"],
      in: root)
    guard changes.end.exitCode == 0 else { return outer }
    let paths = changes.standardOutput.split(separator: "\n").map(String.init)
    let manifest = try await PackageManifest.ofPackage()
    let programs = manifest.programsOfProofs
    guard
      !paths.contains(where: { path in
        isCommon(path) || programs.contains { path.hasPrefix($0 + "/") }
      })
    else { return outer }
    return outer.filter { proof in
      paths.contains { proof.isAbout($0) || proof.standsOn($0, in: manifest) }
    }
  }

  private static func isCommon(_ path: String) -> Bool {
    common.contains { path == $0 || path.hasPrefix($0 + "/") || path.hasPrefix($0 + ".swift") }
      || path.hasPrefix("Tests/Proofs/Proof")
  }

  /// The test targets for a file: a module's own tests, the target that contains a test file, and, for code that
  /// runs at crash time, also the targets that crash programs.
  private static func testTargets(for path: String) throws -> [String] {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count > 1 else { return path.hasSuffix(".md") ? ["HouseTests"] : [] }
    let known = try FileManager.default
      .contentsOfDirectory(atPath: BuiltProducts.packageRoot + "/Tests")
      .filter { $0.hasSuffix("Tests") }
    switch parts[0] {
    case "Tests": return known.filter { $0 == parts[1] }
    case "Docs": return ["HouseTests"]
    case "Examples": return ["EndToEndTests", "HouseTests"]
    case "Sources":
      // The texts of reports show the results of the analysis.
      let module = parts[1] == "CrashAnalysis" ? "CrashReport" : parts[1]
      var targets = known.filter { $0 == module + "Tests" } + ["HouseTests"]
      // Modules without their own tests are C modules below the handler, or modules that only re-export.
      if targets.count == 1 || parts[1] == "CrashHandler" {
        targets += ["CrashHandlerTests", "EndToEndTests"]
      }
      return targets
    default: return []
    }
  }
}

extension Proof {
  /// True if the proof checks changes to this file.
  func isAbout(_ path: String) -> Bool {
    if covers.contains(where: { path == $0 || path.hasPrefix($0 + "/") }) { return true }
    let parts = path.split(separator: "/")
    guard parts.count > 2, parts[0] == "Tests", parts[1] == "Proofs" else { return false }
    let folder = BuiltProducts.packageRoot + "/Tests/Proofs/\(parts[2])"
    // A suite is in the file with its name.
    return suites.contains { FileManager.default.fileExists(atPath: "\(folder)/\($0).swift") }
  }

  /// Folders of the outer ring that no other code of their modules uses; no module imports these modules.
  ///
  /// `RingTests` checks that.
  private static let tops = [
    "Sources/CrashReportUpload/Sentry/", "Sources/PostmortemTool/Completion/",
    "Sources/PostmortemTool/DebugFiles/", "Sources/PostmortemTool/Export/",
    "Sources/PostmortemTool/Overview/", "Sources/Stackwalk/Breakpad/",
  ]

  /// True if the proof covers the module of this file, or a module that is linked with it.
  func standsOn(_ path: String, in manifest: PackageManifest) -> Bool {
    guard let changed = Self.module(of: path), !Self.tops.contains(where: path.hasPrefix) else {
      return false
    }
    return covers.compactMap { Self.module(of: $0) }.contains { module in
      module == changed || manifest.reachable(from: module).contains(changed)
    }
  }

  private static func module(of path: String) -> String? {
    let parts = path.split(separator: "/")
    return parts.count > 1 && parts[0] == "Sources" ? String(parts[1]) : nil
  }
}

extension PackageManifest {
  /// The directories below Examples and Tests of the programs that proofs run: any proof may run any of them.
  fileprivate var programsOfProofs: [String] {
    let reached = reachable(from: "proofs")
    return targets.filter { !$0.isSource && reached.contains($0.name) }.map(\.directory)
  }
}
