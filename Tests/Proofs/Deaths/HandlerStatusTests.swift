import CrashTestSupport
import Foundation
import Testing

/// `handlerStatus()` inside a process and `postmortem doctor` outside it, before and after another handler
/// replaced ours.
@Suite struct HandlerStatusTests {
  /// A run of crash-lab's probe `status`, which waits for input twice.
  private final class Patient {
    let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ arguments: [String], executable: String) throws {
      process.executableURL = URL(fileURLWithPath: executable)
      process.arguments = arguments
      process.standardInput = input
      process.standardOutput = output
      process.environment = ["SWIFT_BACKTRACE": "enable=no"]
      try process.run()
    }

    deinit {
      // Closing its input would not end it reliably: a child that another test spawns may also hold the pipe.
      process.killAndWait()
    }

    /// Returns the lines up to "ready".
    func lines() -> [String] {
      var text = Data()
      while !text.starts(with: Data("ready\n".utf8)), text.range(of: Data("\nready\n".utf8)) == nil
      {
        let piece = output.fileHandleForReading.availableData
        if piece.isEmpty { break }
        text += piece
      }
      return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
        .filter { $0 != "ready" }
    }

    func goOn() throws {
      try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    }
  }

  private func doctor(_ processID: Int32) async throws -> ChildProcess {
    let directory = try TemporaryDirectory()
    return try await ChildProcess.run(
      try await BuiltProducts.shared.executable("postmortem", .asTested),
      ["doctor", "\(processID)"], in: directory.path)
  }

  @Test func findsWhatStandsInTheWay() async throws {
    let victim = try await Victim(.asTested)
    let patient = try Patient(
      ["status", "--database", victim.database], executable: victim.executable)
    let processID = patient.process.processIdentifier
    #expect(patient.lines() == ["the crash handler is in place"])
    let healthy = try await doctor(processID)
    #expect(healthy.end.exitCode == 0, "\(healthy.standardOutput)")
    #expect(healthy.standardOutput.hasPrefix("OK: process \(processID) ("))
    #expect(healthy.standardOutput.contains("the crash handler is in place"))
    #expect(healthy.standardOutput.contains(victim.database))

    try patient.goOn()
    let inside = patient.lines()
    let outside = try await doctor(processID)
    #expect(outside.end.exitCode == 1)
    let lines = outside.standardOutput.split(separator: "\n").map(String.init)
    // Notes are left out: they say what a kill would leave, and are no problems.
    let seen = lines.filter { !$0.hasPrefix("note: ") }
    #expect(lines.first?.hasPrefix("PROBLEM: process \(processID) (") == true)
    #expect(lines.count == seen.count + 2)
    for lines in [inside, seen] {
      func has(_ parts: String...) -> Bool {
        lines.contains { line in parts.allSatisfy(line.contains) }
      }
      #expect(has("SIGSEGV ", "no longer", "it has the default action"), "\(lines)")
      #expect(has("SIGBUS ", "no longer", "it is ignored"), "\(lines)")
      #expect(has("thread \(processID) ", "blocks SIGILL"), "\(lines)")
    }
    // Only the process itself can see whose handler it is.
    func isTaken(_ line: String) -> Bool { line.contains("it has a handler in ") }
    #expect(inside.contains { $0.hasPrefix("SIGFPE no longer has ") && isTaken($0) })
    #expect(inside.filter { $0.contains("in a crash, was taken") && isTaken($0) }.count == 2)
    #expect(inside.filter(isTaken).allSatisfy { $0.hasSuffix("/crash-lab") })
    #expect(inside.contains { $0.hasPrefix("the handler of SIGUSR1 blocks SIGTRAP while it runs") })
    #expect(inside.count == 7, "\(inside)")
    #expect(seen.count == 3, "\(seen)")
  }

  @Test func knowsAForkedChild() async throws {
    let victim = try await Victim(.asTested)
    let patient = try Patient(
      ["forked", "--database", victim.database], executable: victim.executable)
    let child = try #require(patient.lines().first.flatMap { Int32($0) })
    let seen = try await doctor(child)
    #expect(seen.end.exitCode == 0, "\(seen.standardOutput)")
    #expect(seen.standardOutput.contains("was forked by a process with a crash handler"))
    #expect(seen.standardOutput.contains(victim.database))
  }

  @Test func saysWhereThereIsNoHandler() async throws {
    let own = try await doctor(getpid())
    #expect(own.end.exitCode == 1)
    #expect(own.standardOutput.contains("no crash handler is installed"))
    // A number above the largest process ID of the kernel.
    let none = try await doctor(1 << 22 + 1)
    #expect(none.end.exitCode == 2)
    #expect(none.standardError.contains("does not exist"))
  }
}
