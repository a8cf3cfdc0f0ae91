import CrashTestSupport
import Foundation

/// Runs crash-lab with or without `Poison/poison.c` preloaded.
final class PoisonedVictim: Sendable {
  /// The exit code of a victim that called a poisoned function in a handler.
  static let poisoned: Int32 = 99
  /// The line that the poison prints when the first handler runs.
  static let watching = "poison: watching"

  let executable: String
  private let directory = try! TemporaryDirectory()
  private var library: String { directory.path + "/poison.so" }

  /// Compiles the poison.
  ///
  /// - Parameter plant: C statements that the poison runs on each handling thread.
  init(_ configuration: BuildConfiguration, plant: String? = nil) async throws {
    executable = try await BuiltProducts.shared.executable("crash-lab", configuration)
    let source = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Poison/poison.c").path
    let options = ["-O1", "-fPIC", "-shared", "-fno-builtin", "-Wall", "-Werror"]
    let planted = plant.map { ["-DPLANT=\($0)"] } ?? []
    let compiler = try await ChildProcess.run(
      try Toolchain.path(of: "clang"), options + planted + [source, "-o", library],
      in: directory.path)
    guard compiler.end.exitCode == 0 else { throw OutsideToolError(compiler.standardError) }
  }

  /// Crashes once, with a new database.
  func die(_ kind: String, on place: String, isPoisoned: Bool) async throws -> Death {
    try await run(
      [kind], ["--on", place, "--threads", "3"], name: "\(kind)-\(place)", isPoisoned: isPoisoned)
  }

  /// Runs one scene of a program that had installed signal handlers before ours, with a separate database.
  func play(_ scene: String, isPoisoned: Bool) async throws -> Death {
    try await run(["chain", scene], [], name: scene, isPoisoned: isPoisoned)
  }

  private func run(
    _ command: [String], _ options: [String], name: String, isPoisoned: Bool
  ) async throws -> Death {
    let name = "\(name)-\(isPoisoned)"
    let database = directory.path + "/" + name + "/database"
    let preload = isPoisoned ? ["LD_PRELOAD=" + library] : []
    // env sets the variable, so that the shell that starts env is not poisoned.
    let child = try await ChildProcess.run(
      "/usr/bin/env",
      preload + [executable] + command + ["--database", database] + options,
      in: try directory.subdirectory(name), environment: ["SWIFT_BACKTRACE": "enable=no"])
    let process = try await ChildProcess.run(
      executable, ["process", "--database", database, "--no-symbols"], in: directory.path)
    return Death(
      end: child.end, standardError: child.standardError,
      dumps: process.standardOutput.split(separator: "\n").map(String.init))
  }

  struct Death {
    let end: ChildEnd
    let standardError: String
    /// The lines of the next start, one for each pending dump.
    let dumps: [String]

    var leftOneCompleteDump: Bool { dumps.count == 1 && dumps[0].tellsAWholeDump }
  }
}
