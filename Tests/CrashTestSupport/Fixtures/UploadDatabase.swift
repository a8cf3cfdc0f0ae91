package import CrashReportDatabase
internal import Foundation
internal import Glibc
package import IntermediateDump
internal import Minidump
package import ProcessSnapshot
internal import Testing

/// A database with reports to upload.
package struct UploadDatabase {
  package let directory: SharedDirectory
  package let database: CrashReportDatabase

  package init(enabled: Bool = true) throws {
    directory = try SharedDirectory(inMemory: true)
    database = try CrashReportDatabase(path: directory.path + "/db")
    try database.setUploadsEnabled(enabled)
  }

  /// Makes a pending report.
  ///
  /// - Parameters:
  ///   - extra: the number of zero bytes after the minidump, which use no disk space.
  ///   - memory: the number of bytes of a thread's stack.
  ///   - signature: the signature in the index of facts; nil for a report without facts.
  ///   - change: changes the process before it is written.
  @discardableResult
  package func addReport(
    annotations: [String: String] = ["one": "1"], extra: Int64 = 0, memory: [UInt8] = [],
    signature: String? = nil, change: (inout ProcessSnapshot) -> Void = { _ in }
  ) throws -> ReportID {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    let id = ReportID()
    snapshot.reportID = id
    snapshot.clientID = try database.clientID()
    snapshot.process.product = "tests \"of\" uploads"
    snapshot.process.version = "1.2"
    snapshot.launchAnnotations = annotations
    if !memory.isEmpty {
      snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x7000_0000, bytes: memory)])
    }
    change(&snapshot)
    var report = try database.prepareNewReport(id)
    report.isUploaderCrash = snapshot.isUploaderCrash
    try MinidumpWriter.write(snapshot, to: report.descriptor)
    if extra > 0 {
      let size = lseek(report.descriptor, 0, SEEK_END)
      ftruncate(report.descriptor, off_t(Int64(size) + extra))
    }
    try report.finish()
    if signature != nil {
      var facts = ReportFacts()
      facts.signature = signature
      let key = ReportIndex.Key(of: try self.report(id))
      ReportIndex.append([(key, facts)], in: try database.open())
    }
    return id
  }

  package func report(_ id: ReportID) throws -> StoredReport {
    try #require(try database.report(id))
  }

  package func bytes(_ id: ReportID) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: try report(id).path)))
  }
}
