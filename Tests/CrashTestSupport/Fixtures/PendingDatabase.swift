package import CrashReportDatabase
package import Foundation
package import IntermediateDump
internal import PendingDumps
internal import Testing

/// A database in a temporary directory, with the pending dumps that a test adds.
package final class PendingDatabase: Sendable {
  package let directory: SharedDirectory
  package var path: String { directory.path }
  private static let pending = "pending-serialized-dumps"

  package init(inMemory: Bool = false) throws {
    directory = try SharedDirectory(inMemory: inMemory)
    try FileManager.default.createDirectory(
      atPath: "\(directory.path)/\(Self.pending)", withIntermediateDirectories: false)
  }

  /// The names in the directory of pending dumps.
  package var names: [String] { directory.names(Self.pending) }

  /// The reports of the database.
  package var reports: [StoredReport] {
    get throws { try CrashReportDatabase(path: path).reports() }
  }

  /// The path of a pending file.
  package func path(of name: String) -> String { "\(path)/\(Self.pending)/\(name)" }

  package func put(_ bytes: [UInt8], _ name: String, age: TimeInterval = 0) throws {
    try directory.put(bytes, "\(Self.pending)/\(name)")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: path(of: name))
  }

  /// Adds a dump, and returns its report's ID.
  @discardableResult
  package func putDump(
    _ bytes: [UInt8] = PendingDatabase.complete, identifier: String = "app", suffix: String = "",
    age: TimeInterval = 0
  ) throws -> ReportID {
    let id = ReportID()
    try put(bytes, "\(identifier)@\(id)\(suffix)", age: age)
    return id
  }

  /// Writes the run record of a locked file's owner.
  package func putRecord(
    _ id: ReportID, identifier: String = "app", processID: UInt32, startTime: UInt64,
    stackStart: UInt64 = 0, bootID: String, namespace: UInt64, isMapped: Bool = false
  ) throws {
    var record = RunRecord(
      processID: processID, startTime: startTime, stackStart: stackStart, bootID: bootID,
      processNamespace: namespace, launchTime: 1)
    record.timeNamespace = HostIdentity.current().timeNamespace
    record.isMapped = isMapped
    try put(try #require(record.encoded()), "\(identifier)@\(id).run")
  }

  /// A dump of a crash, with an annotation and 4 KiB of memory.
  package static let complete: [UInt8] =
    IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.process)
      writer.unsigned(.processID, 4242, width: 4)
      writer.text(.product, "product")
      writer.end()
      writer.startMap(.exception)
      writer.unsigned(.exceptionThreadID, 4242, width: 4)
      writer.signed(.signalNumber, 11, width: 4)
      writer.end()
      writer.startMap(.crashingThread)
      writer.unsigned(.threadID, 4242, width: 4)
      writer.bytes(.generalRegisters, Array(repeating: 1, count: 23 * 8))
      writer.end()
      writer.startArray(.memory)
      writer.startMap(.memoryRegion)
      writer.unsigned(.regionAddress, 0x1000)
      writer.bytes(.regionData, Array(repeating: 0xAB, count: 4096))
      writer.end()
      writer.end()
      writer.startArray(.annotations)
      for (name, value) in [("dump", "1"), ("both", "dump")] {
        writer.startMap(.annotation)
        writer.text(.annotationName, name)
        writer.text(.annotationValue, value)
        writer.end()
      }
      writer.end()
      _ = writer.endDocument()
    } ?? []
}

extension StringProtocol {
  /// True for a converter's line about a complete dump.
  package var tellsAWholeDump: Bool {
    let line = String(self)
    guard let start = line.firstRange(of: ": ")?.upperBound,
      let end = [" (report ", "; postmortem show "].compactMap({
        line.ranges(of: $0).last?.lowerBound
      }).first, start <= end
    else { return false }
    let outcome = line[start..<end]
    return outcome == "complete" || outcome.hasPrefix("SIG") || outcome.hasPrefix("signal ")
  }

  /// True for a converter's line about the report with an ID.
  package func tellsReport(_ id: ReportID) -> Bool {
    let beginning = id.description.prefix(8)
    return hasSuffix(" (report \(beginning))")
      || contains("; postmortem show ") && hasSuffix(" \(beginning)")
  }
}
