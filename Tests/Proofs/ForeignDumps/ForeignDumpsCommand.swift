internal import CrashAnalysis
internal import CrashReport
internal import CrashTestSupport
internal import Foundation
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot
internal import Stackwalk

/// `swift run proofs foreign-dumps DIRECTORY`: reads the test dumps of other projects in the directory, and
/// compares the results with those of the projects' own tools.
///
/// The dumps may have any names.
struct ForeignDumpsCommand {
  private let directory: String

  init(_ arguments: [String]) throws {
    guard arguments.count == 1, let directory = arguments.first else {
      throw ProofsCommand.UsageError(description: "foreign-dumps takes a directory")
    }
    self.directory = directory
  }

  /// The facts of a dump, as words of the table.
  private struct Facts {
    let words: [Substring]

    /// The crashing thread, the exception and the address; or the single word "refused" or "none".
    var head: [Substring] { Array(words.prefix(3)) }
    var frames: ArraySlice<Substring> { words.dropFirst(3) }
  }

  /// - Returns: true if all known files have the expected results.
  func run() async throws -> Bool {
    var expected: [Substring: (name: Substring, facts: Facts)] = [:]
    for line in ForeignDumpExpectations.text.split(separator: "\n") {
      let words = line.split(separator: " ")
      expected[words[0]] = (words[1], Facts(words: Array(words.dropFirst(2))))
    }
    var (found, failed): (Set<Substring>, Int) = ([], 0)
    for name in try FileManager.default.contentsOfDirectory(atPath: directory).sorted() {
      let path = directory + "/" + name
      guard let bytes = FileManager.default.contents(atPath: path),
        let digest = try await digest(of: path), let known = expected[digest]
      else { continue }
      found.insert(digest)
      let actual = Self.facts(of: Array(bytes))
      let isRight =
        actual.head == known.facts.head
        && actual.frames.starts(with: known.facts.frames)
      if !isRight { failed += 1 }
      let what = isRight ? "✔" : "✘"
      print(
        "\(what) \(known.name): \(actual.words.prefix(3 + max(1, known.facts.frames.count)).joined(separator: " "))"
      )
      if !isRight { print("  expected \(known.facts.words.joined(separator: " "))") }
    }
    print(
      "\(found.count) of \(expected.count) known dumps are there, \(failed) read otherwise than expected"
    )
    return failed == 0 && !found.isEmpty
  }

  private func digest(of path: String) async throws -> Substring? {
    let child = try await ChildProcess.run(
      "/usr/bin/sha256sum", ["--", path], in: NSTemporaryDirectory())
    return child.standardOutput.split(separator: " ").first.map { $0.drop { $0 == "\\" } }
  }

  private static func facts(of bytes: [UInt8]) -> Facts {
    guard let snapshot = try? MinidumpReader.snapshot(of: bytes) else {
      return Facts(words: ["refused"])
    }
    guard let exception = snapshot.exception else { return Facts(words: ["none"]) }
    var words = [
      "\(exception.threadID)", self.words(for: exception), exception.address?.description ?? "-",
    ]
    if let thread = snapshot.crashedThread {
      let report = CrashReport(snapshot: snapshot, symbolicating: true)
      for frame in report.threads.first(where: { $0.id == thread.id })?.frames ?? [] {
        let address = frame.lookupAddress
        guard let module = snapshot.module(containing: address) else {
          words.append(address.description)
          continue
        }
        // Paths in dumps of Windows have backslashes.
        let name = module.path.split { $0 == "/" || $0 == "\\" }.last ?? ""
        words.append("\(name)+\(Address(address.wrappedDistance(above: module.address)))")
      }
    }
    return Facts(words: words.map { $0[...] })
  }

  /// The exception as Breakpad's processor names it.
  private static func words(for exception: ExceptionSnapshot) -> String {
    func digits(_ value: UInt32) -> String {
      let text = String(value, radix: 16)
      return "0x" + String(repeating: "0", count: 8 - text.count) + text
    }
    if let foreign = exception.foreign {
      if foreign.system == .windows, let name = foreign.name, !name.hasPrefix("STATUS_INVALID") {
        let access =
          switch foreign.access {
          case .read: "_READ"
          case .write: "_WRITE"
          case .execute: "_EXEC"
          case nil: ""
          }
        return name.replacing("STATUS_", with: "EXCEPTION_") + access
      }
      if foreign.code < 100, foreign.code != 0, let name = foreign.name, let detail = foreign.detail
      {
        return "\(name)/\(detail)"
      }
      return "\(digits(foreign.code))/\(digits(foreign.flags))"
    }
    guard let signal = exception.signal, let name = SignalNames.name(signal) else {
      return "unknown"
    }
    if name == "SIGABRT" { return name }
    let code = exception.code.map { SignalNames.codeName(signal: signal, code: $0) ?? "\($0)" }
    return "\(name)/\(code ?? "0x00000000")"
  }
}
