import CrashTestSupport
import Foundation
import Testing

/// A program that exits while its uploader is inside OpenSSL ends as it would without an uploader.
@Suite(.needs(.python3), .needs(.openssl))
struct UploadExitTests {
  @Test func anExitAtARandomMomentHasTheProgramsOwnStatus() async throws {
    let exits = try await UploadExits()
    let url = exits.url
    var random = SystemRandomNumberGenerator()
    let moments = (0..<200).map { (number: $0, time: Int.random(in: 0..<150_000, using: &random)) }
    let faults = try await withThrowingTaskGroup(of: String?.self) { group in
      for (number, time) in moments {
        let way = UploadExits.Way.allCases[number % UploadExits.Way.allCases.count]
        group.addTask { try await UploadExits.fault(way, url: url, microseconds: time) }
      }
      return try await group.reduce(into: [String]()) { all, fault in
        if let fault { all.append(fault) }
      }
    }
    #expect(faults == [])
    withExtendedLifetime(exits) {}
  }

  /// Stops the transfer inside OpenSSL, lets the main thread exit until the program's last exit handler has run,
  /// and only then resumes the transfer.
  ///
  /// Libraries that clean up at exit would make the transfer crash.
  private static let script = """
    set pagination off
    set complaints 0
    set breakpoint pending on
    set debuginfod enabled off
    handle all nostop noprint pass
    handle SIGTRAP stop
    break SSL_connect
    run
    break RAND_bytes_ex
    continue
    python held = gdb.selected_thread().num
    python print("@held", gdb.selected_frame().name(), held)
    set scheduler-locking on
    break '$s15UploadingVictim11lastHandleryyF'
    thread 1
    queue-signal SIGUSR1
    continue
    python print("@exiting", gdb.selected_frame().name())
    finish
    python gdb.execute("thread %d" % held)
    finish
    python print("@returned", gdb.selected_thread().is_valid())
    kill
    """

  @Test(.needs(.gdb))
  func aTransferThatIsHeldInsideOpenSSL() async throws {
    let exits = try await UploadExits()
    let uploads = try UploadDatabase()
    try uploads.addReport()
    try Self.script.write(
      toFile: uploads.directory.path + "/script", atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      try #require(OutsideTool.gdb.path),
      [
        "-batch", "-nx", "-x", "script", "--args",
        try BuiltProducts.besideTests("UploadingVictim"),
      ] + UploadExits.arguments(.return, uploads, url: exits.url, microseconds: 100_000_000),
      in: uploads.directory.path, environment: ["DEBUGINFOD_URLS": ""], patience: 300)
    let output = child.standardOutput + child.standardError
    #expect(output.contains("@held RAND_bytes_ex"), "\(output)")
    #expect(output.contains(/@exiting .*lastHandler/), "\(output)")
    // In a library that has cleaned up, the transfer would end the process by SIGSEGV.
    #expect(output.contains("@returned True") && !output.contains("SIGSEGV,"), "\(output)")
    let time = try #require(output.firstMatch(of: /exit took (\d+) ms/), "\(output)")
    // Twenty times EXIT_PATIENCE of pm_transfer.c; without a limit, the exit would wait for the transfer forever.
    #expect(try #require(Int(time.1)) <= 1200)
  }
}
