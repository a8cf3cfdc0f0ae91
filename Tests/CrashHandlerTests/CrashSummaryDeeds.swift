import Foundation
import Testing

@testable import CrashHandler

// What the tests of the summary do in their processes.

/// The lines of the summary without their mark.
func summaryLines(of result: ExitTest.Result?) throws -> [String] {
  let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
  return text.split(separator: "\n").compactMap { line in
    line.wholeMatch(of: /postmortem\[[0-9]+\]: (.*)/).map { String($0.1) }
  }
}

/// Swift's backtracer would print instead.
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

/// Calls itself by another function.
@inline(never)
func writeInTurn(_ depth: Int) -> Int {
  depth > 0 ? writeBack(depth - 1) &+ 1 : writeDeep(0)
}
@inline(never)
func writeBack(_ depth: Int) -> Int {
  depth > 0 ? writeInTurn(depth - 1) &+ 2 : writeDeep(0)
}

/// Five functions in turn, more than a summary folds.
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
