import Foundation
import IntermediateDump
import Testing

/// A folder that is removed with everything in it.
struct TemporaryFolder: ~Copyable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "pm-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Where a test's handler has its database.
  var database: String { path + "/db" }

  /// The names in the pending folder of `database`.
  func pendingNames() throws -> [String] {
    try FileManager.default.contentsOfDirectory(
      atPath: database + "/" + PendingDumpName.folder
    ).sorted()
  }

  /// The bytes of the only finished dump; fails the test if there is not exactly one.
  func onlyDump() throws -> [UInt8] {
    let finished = try pendingNames().filter { PendingDumpName(fileName: $0)?.role == .finished }
    try #require(finished.count == 1, "\(finished)")
    let path = database + "/" + PendingDumpName.folder + "/" + finished[0]
    return try Array(Data(contentsOf: URL(filePath: path)))
  }
}
