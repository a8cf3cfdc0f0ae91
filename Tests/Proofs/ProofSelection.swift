internal import CrashTestSupport
internal import Foundation

/// The tests and proofs that check a change, by the files that it changed.
struct ProofSelection {
  /// The selected proofs, in the order of the table.
  let proofs: [Proof]
  /// Others of the outer ring, which check something that stands on a changed module.
  let onTop: [Proof]
  /// Test targets of `swift test`; nil for all of them.
  let testTargets: [String]?

  /// A change of one of these can reach anything.
  private static let common = [
    ".ci", "Package.swift", "Tests/CrashTestSupport", "Tests/Proofs/Proof", "Tests/FaultInjector",
  ]

  /// - Parameter paths: relative to the package's root. A file that was deleted is not an error.
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

  /// The commands that run them.
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

  /// The proofs of a change in CI: those of the core, and those of the outer ring that it can reach.
  ///
  /// - Parameter base: a commit of git. One that this clone does not have, or that has no common ancestor with
  ///   the newest commit here, means all proofs.
  static func proofs(since base: String) async throws -> [Proof] {
    let root = BuiltProducts.packageRoot
    // A file that was moved is two: it has left the place that a proof covers.
    let changes = try await ChildProcess.run(
      "/usr/bin/env", ["git", "-C", root, "diff", "--name-only", "--no-renames", base + "...HEAD"],
      in: root)
    guard changes.end.exitCode == 0 else { return Proof.all }
    let paths = changes.standardOutput.split(separator: "\n").map(String.init)
    let manifest = try await PackageManifest.ofPackage()
    let programs = manifest.programsOfProofs
    guard
      !paths.contains(where: { path in
        isCommon(path) || programs.contains { path.hasPrefix($0 + "/") }
      })
    else { return Proof.all }
    return Proof.all.filter { proof in
      proof.ring == .core
        || paths.contains { proof.isAbout($0) || proof.standsOn($0, in: manifest) }
    }
  }

  private static func isCommon(_ path: String) -> Bool {
    common.contains { path == $0 || path.hasPrefix($0 + "/") || path.hasPrefix($0 + ".swift") }
      || path.hasPrefix("Tests/Proofs/Proof")
  }

  /// A module's own tests, the tests that a file of tests belongs to, and of crash-time code also the tests
  /// that crash.
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
      var targets = known.filter { $0 == parts[1] + "Tests" } + ["HouseTests"]
      // Modules without tests of their own are C below the handler, or names above it.
      if targets.count == 1 || parts[1] == "CrashHandler" {
        targets += ["CrashHandlerTests", "EndToEndTests"]
      }
      return targets
    default: return []
    }
  }
}

extension Proof {
  /// True if a change of this file is one that the proof checks.
  func isAbout(_ path: String) -> Bool {
    if covers.contains(where: { path == $0 || path.hasPrefix($0 + "/") }) { return true }
    let parts = path.split(separator: "/")
    guard parts.count > 2, parts[0] == "Tests", parts[1] == "Proofs" else { return false }
    let folder = BuiltProducts.packageRoot + "/Tests/Proofs/\(parts[2])"
    // A suite lies in the file of its name.
    return suites.contains { FileManager.default.fileExists(atPath: "\(folder)/\($0).swift") }
  }

  /// Folders of the outer ring that nothing else of their modules uses, and no module that imports these.
  ///
  /// `RingTests` checks that.
  private static let tops = [
    "Sources/CrashReportUpload/Sentry/", "Sources/PostmortemTool/Completion/",
    "Sources/PostmortemTool/DebugFiles/", "Sources/PostmortemTool/Export/",
    "Sources/PostmortemTool/Overview/", "Sources/Stackwalk/Breakpad/",
  ]

  /// True if the proof checks something that stands on this file: a module that it covers is the file's, or is
  /// linked with it.
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
  /// The directories of what proofs run and are made of, below Examples and Tests: any proof may run any of it.
  fileprivate var programsOfProofs: [String] {
    let reached = reachable(from: "proofs")
    return targets.filter { !$0.isSource && reached.contains($0.name) }.map(\.directory)
  }
}
