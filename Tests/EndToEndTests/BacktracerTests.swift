import CrashConverter
import CrashTestSupport
import Foundation
import Testing

/// Crashes after which Swift's backtracer runs in the crashed process.
@Suite struct BacktracerTests {
  /// The backtracer sets the default action of its own signals before it starts anything.
  ///
  /// So only the crash signals that are not its own still reach the handler. The thread blocks them while the backtracer
  /// runs, and they arrive when its crash is about to end the process.
  @Test(arguments: ["XCPU", "XFSZ", "SYS"])
  func aSignalThatAnotherProcessSendsMeanwhileDoesNotEndTheProcess(_ signal: String) async throws {
    let directory = try SharedDirectory()
    let (database, script) = (directory.path + "/db", directory.path + "/backtrace")
    // The Swift runtime starts this script instead of swift-backtrace, as a child of the crashed process.
    try directory.put(
      Array("#!/bin/sh\nkill -\(signal) $PPID && touch \(directory.path)/sent\n".utf8),
      "backtrace")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"),
      ["null-read", "--database", database, "--no-summary"], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=yes,swift-backtrace=\(script)"])
    #expect(directory.bytes("sent") != nil, "\(child)")
    #expect(child.end.signal == SIGSEGV, "\(child)")
    let processed = try processIntermediateDumps(database: database, storingSymbols: false)
    #expect(processed.map(\.outcome) == [.complete], "\(processed)")
  }
}
