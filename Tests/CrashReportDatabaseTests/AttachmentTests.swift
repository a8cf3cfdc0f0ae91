import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

@testable import CrashReportDatabase

@Suite struct AttachmentTests {
  private let directory: SharedDirectory
  private let outside: SharedDirectory
  private let database: CrashReportDatabase
  private let id = ReportID()

  init() throws {
    directory = try SharedDirectory()
    outside = try SharedDirectory()
    database = try CrashReportDatabase(path: directory.path)
  }

  private func finishReport() throws {
    let report = try database.prepareNewReport(id)
    #expect(unsafe write(report.descriptor, "MDMP", 4) == 4)
    try report.finish()
  }

  private func attach(_ file: String, limit: Int64 = 100) throws -> Int64 {
    let path = "\(outside.path)/\(file)"
    return try database.attach(
      path, as: StoredAttachment.names(for: [path])[0], to: id, limit: limit
    ).bytesOmitted
  }

  @Test func aCopyIsListedCountedAndDeletedWithItsReport() throws {
    try outside.put(Array("hello".utf8), "app.log")
    #expect(try attach("app.log") == 0)
    try finishReport()
    // The copy stays when the program's file changes or is deleted.
    try outside.put([], "app.log")
    let path = "\(directory.path)/attachments/\(id)/app.log"
    #expect(
      try database.attachments(of: id) == [StoredAttachment(name: "app.log", path: path, size: 5)])
    #expect(directory.bytes("attachments/\(id)/app.log") == Array("hello".utf8))
    #expect(try directory.permissions("attachments/\(id)/app.log") == 0o600)
    var condition = PruneCondition()
    condition.maximumSize = 0
    #expect(try database.excess(condition).isEmpty, "the newest stays")
    #expect(try database.delete(id))
    #expect(try database.attachments(of: id) == [])
    #expect(directory.names("attachments") == [])
  }

  @Test func ofALongFileTheEndIsKept() throws {
    try outside.put(Array(0..<250), "long")
    #expect(try attach("long") == 150)
    #expect(directory.bytes("attachments/\(id)/long") == Array(150..<250))
    // Attaching again, as after a converter that was killed, leaves one copy: the new one.
    try outside.put([1], "long")
    #expect(try attach("long") == 0)
    #expect(try database.attachments(of: id).map(\.size) == [1])
    #expect(directory.names("attachments/\(id)") == ["long"])
  }

  @Test func whatIsNoRegularFileIsRefused() throws {
    try outside.put([1], "file")
    try #require(unsafe symlink("\(outside.path)/file", "\(outside.path)/link") == 0)
    try #require(unsafe mkfifo("\(outside.path)/fifo", 0o600) == 0)
    try #require(unsafe mkdir("\(outside.path)/directory", 0o700) == 0)
    for name in ["link", "fifo", "directory"] {
      let error = #expect(throws: CrashReportDatabaseError.self) { try attach(name) }
      #expect(error?.code == .notARegularFile)
    }
    #expect(throws: CrashReportDatabaseError.self) { try attach("missing") }
    #expect(throws: CrashReportDatabaseError.self) {
      try database.attach("file", as: "file", to: id, limit: 1)
    }
    #expect(throws: CrashReportDatabaseError.self) {
      try database.attach("\(outside.path)/file", as: "../file", to: id, limit: 1)
    }
    #expect(try database.attachments(of: id) == [])
  }

  @Test func namesAreSafeAndTellApart() {
    let names = StoredAttachment.names(for: [
      "/var/log/app.log", "/tmp/app.log", "/a/..", "/a/.hidden", "/a/b c\u{1F600}\n.txt", "",
      "/" + String(repeating: "x", count: 200) + ".json",
    ])
    #expect(
      names.prefix(6) == ["app.log", "2-app.log", "_..", "_.hidden", "b_c__.txt", "_"])
    #expect(names[6].hasSuffix("xx.json"))
    #expect(names.allSatisfy(StoredAttachment.isSafe))
    #expect(!StoredAttachment.isSafe("a/b") && !StoredAttachment.isSafe(".."))
  }

  @Test func otherFilesInTheDirectoryAreNotListed() throws {
    try outside.put([1], "good")
    _ = try attach("good")
    try directory.put([1], "attachments/\(id)/.good.1.tmp")
    try directory.put([1], "attachments/\(id)/sp ace")
    try #require(unsafe symlink("/etc/passwd", "\(directory.path)/attachments/\(id)/link") == 0)
    #expect(try database.attachments(of: id).map(\.name) == ["good"])
  }
}
