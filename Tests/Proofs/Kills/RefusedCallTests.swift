import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import PendingDumps
import Testing

/// If a system call of a converter fails without being made, the pending file still becomes the same report, byte
/// for byte, now or at the next start.
///
/// Each call fails with one error; with `swift run proofs kills --full`, with each of them.
@Suite(.needs(.strace))
struct RefusedCallTests {
  private static let errors = ["EIO", "EMFILE", "ENFILE", "ENOSPC", "EINTR", "ENOMEM", "ESTALE"]
  private static let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_UPLOAD_KILLS"] != nil

  /// The file that a process left.
  enum Left: String, CaseIterable, CustomTestStringConvertible {
    /// A dump of 301 threads, too large for a single read, with an attachment.
    case dump
    /// The record of a run that ended without a dump.
    case run

    var testDescription: String { rawValue }

    func put(in dumps: PendingDatabase) throws {
      switch self {
      case .dump:
        try dumps.directory.put(Array("a line of a log\n".utf8), "log")
        let id = try dumps.putDump(Self.largeDump(attaching: dumps.path + "/log"))
        try dumps.putRecord(id, processID: 1, startTime: 1, bootID: "another", namespace: 1)
      case .run:
        let id = try dumps.putDump([], suffix: ".locked")
        var record = RunRecord(
          processID: 1, startTime: 1, stackStart: 1, bootID: "another", processNamespace: 1,
          launchTime: 1)
        record.course = RunCourse()
        record.course?.followsExits = true
        try dumps.put(try #require(record.encoded()), "app@\(id).run")
      }
    }

    private static func largeDump(attaching path: String) throws -> [UInt8] {
      let user = getuid()
      let dump = IntermediateDumpEncoding.encode(sizeHint: 4 << 20) { writer in
        writer.header()
        writer.startMap(.process)
        writer.unsigned(.processID, 4242, width: 4)
        writer.text(.product, "product")
        writer.bytes(
          .processStatus, Array("Uid:\t\(user)\t\(user)\t\(user)\t\(user)\nGid:\t0\t0\t0\t0\n".utf8)
        )
        writer.end()
        writer.startMap(.exception)
        writer.unsigned(.exceptionThreadID, 4242, width: 4)
        writer.signed(.signalNumber, 11, width: 4)
        writer.end()
        writer.startArray(.threads)
        for number in 0..<301 {
          writer.startMap(.thread)
          writer.unsigned(.threadID, UInt64(4242 + number), width: 4)
          writer.bytes(.generalRegisters, Array(repeating: 1, count: 23 * 8))
          writer.end()
        }
        writer.end()
        writer.startArray(.memory)
        for number in 0..<301 {
          writer.startMap(.memoryRegion)
          writer.unsigned(.regionAddress, UInt64(number + 1) << 16)
          writer.bytes(.regionData, Array(repeating: UInt8(number & 0xFF), count: 4096))
          writer.end()
        }
        writer.end()
        writer.startArray(.attachments)
        writer.startMap(.attachment)
        writer.text(.attachmentPath, path)
        writer.end()
        writer.end()
        _ = writer.endDocument()
      }
      return try #require(dump)
    }
  }

  /// The files of reports and attachments below a database, by path.
  private static func reports(in path: String) -> [String: Data] {
    var found: [String: Data] = [:]
    for name in FileManager.default.subpaths(atPath: path) ?? [] {
      let isReport = name.hasSuffix(".dmp") && !name.hasPrefix("new/")
      guard isReport || name.hasPrefix("attachments/") else { continue }
      // A directory has no contents to compare.
      found[name] = FileManager.default.contents(atPath: path + "/" + name)
    }
    return found
  }

  private static func copy(_ path: String, to directory: SharedDirectory) throws -> String {
    let copy = directory.path + "/" + UUID().uuidString
    let status = unsafe system("cp -a '\(path)' '\(copy)'")
    try #require(status == 0)
    return copy
  }

  @Test(arguments: Left.allCases)
  func atEverySystemCallAllIsKeptAndAllIsReportedInTheEnd(_ left: Left) async throws {
    let sample = try PendingDatabase(inMemory: true)
    // All databases have the same client ID, so that their reports are equal.
    _ = try CrashReportDatabase(path: sample.path).clientID()
    try left.put(in: sample)
    let directory = try SharedDirectory(inMemory: true)
    let undisturbed = try Self.copy(sample.path, to: directory)
    let calls = try await SystemCallTrace(database: undisturbed).calls.filter {
      // A close takes effect even if it returns an error.
      $0.name != "close"
    }
    let whole = Self.reports(in: undisturbed)
    #expect(whole.count == (left == .dump ? 2 : 1), "\(whole.keys)")
    // A large file is read and written in pieces by identical calls; not every one is tested.
    var seen: [String: Int] = [:]
    for (index, call) in calls.enumerated() {
      let kind = "\(call.name) \(call.line.split(separator: ">").first ?? "")"
      seen[kind, default: 0] += 1
      guard Self.isFull || seen[kind, default: 0] <= 4 else { continue }
      for error in Self.isFull ? Self.errors : [Self.errors[index % Self.errors.count]] {
        try await check(call, error, sample.path, whole, in: directory)
      }
    }
  }

  private func check(
    _ call: SystemCallTrace.Call, _ error: String, _ sample: String, _ whole: [String: Data],
    in directory: SharedDirectory
  ) async throws {
    let database = try Self.copy(sample, to: directory)
    defer { try? FileManager.default.removeItem(atPath: database) }
    let what = "\(error) of \(call.line.prefix(200))"
    let child = try await SystemCallTrace.refuse(call, with: error, database: database)
    let now = Self.reports(in: database).filter { $0.key.hasSuffix(".dmp") }
    for (name, contents) in now { #expect(whole[name] == contents, "\(what): \(name)") }
    if now.isEmpty {
      let says =
        child.standardOutput.contains("left for now") || child.standardOutput.contains("failed")
      #expect(child.end.exitCode != 0 || says, "\(what): \(child.standardOutput)")
    }
    let rest = try processIntermediateDumps(database: database, identifier: "app")
    #expect(rest.allSatisfy { [.complete, .ended].contains($0.outcome.kind) }, "\(what): \(rest)")
    #expect(Self.reports(in: database) == whole, "\(what)")
    let pending = try FileManager.default.contentsOfDirectory(
      atPath: database + "/pending-serialized-dumps")
    #expect(
      pending.allSatisfy { $0.hasSuffix(".run") || $0.hasSuffix(".fifo") }, "\(what): \(pending)")
  }
}
