import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import CrashHandler

// Functions that the processes of the summary's tests run.

/// The lines of the summary without their mark.
func summaryLines(of result: ExitTest.Result?) throws -> [String] {
  let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
  return text.split(separator: "\n").compactMap { line in
    line.wholeMatch(of: /postmortem\[[0-9]+\]: (.*)/).map { String($0.1) }
  }
}

/// The dumps in the pieces of the summary.
func loggedDumps(of result: ExitTest.Result?) throws -> [LoggedDump] {
  var reader = LoggedDumpReader()
  reader.take(try #require(result).standardErrorContent)
  let whole = reader.takeFinished()
  let (rest, strayCount) = reader.finish()
  #expect(rest.isEmpty && strayCount == 0)
  return whole
}

/// What `postmortem symbolicate` prints for the summary.
func symbolicated(
  _ result: ExitTest.Result?, _ options: [String] = [], in directory: borrowing TemporaryDirectory
) async throws -> String {
  let log = directory.path + "/log"
  try Data(try #require(result?.standardErrorContent)).write(to: URL(filePath: log))
  let shown = try await ChildProcess.run(
    try BuiltProducts.besideTests("postmortem"), ["symbolicate"] + options + [log],
    in: directory.path)
  #expect(shown.end.exitCode == 0, "\(shown)")
  return shown.standardOutput
}

/// Restores the default actions, because Swift's backtracer would print instead of the summary.
func restoreDefaults() {
  for number in [SIGSEGV, SIGILL, SIGTRAP, SIGABRT] { signal(number, SIG_DFL) }
}

func startWithoutBacktracer(_ database: String) throws {
  restoreDefaults()
  try startHandler(database: database)
}

@inline(never)
func writeToNowhere() {
  let pointer = unsafe UnsafeMutableRawPointer(bitPattern: 16)
  unsafe pointer?.storeBytes(of: 1, as: UInt.self)
}

/// Recurses through a second function.
@inline(never)
func writeInTurn(_ depth: Int) -> Int {
  depth > 0 ? writeBack(depth - 1) &+ 1 : writeDeep(0)
}
@inline(never)
func writeBack(_ depth: Int) -> Int {
  depth > 0 ? writeInTurn(depth - 1) &+ 2 : writeDeep(0)
}

/// Recurses through five functions.
@inline(never)
func writeFirstOfFive(_ depth: Int) -> Int {
  depth > 0 ? writeSecond(depth - 1) &+ 1 : writeDeep(0)
}
@inline(never)
func writeSecond(_ depth: Int) -> Int { writeThird(depth) &+ 2 }
@inline(never)
func writeThird(_ depth: Int) -> Int { writeFourth(depth) &+ 3 }
@inline(never)
func writeFourth(_ depth: Int) -> Int { writeFifth(depth) &+ 4 }
@inline(never)
func writeFifth(_ depth: Int) -> Int { writeFirstOfFive(depth) &+ 5 }
