import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import Testing

extension TemporaryDirectory {
  /// The path of the database of a test's handler.
  var database: String { path + "/db" }

  /// The names in the pending directory of `database`.
  func pendingNames() throws -> [String] {
    try FileManager.default.contentsOfDirectory(
      atPath: database + "/" + PendingDumpName.directory
    ).sorted()
  }

  /// The bytes of each finished dump.
  func finishedDumps() throws -> [[UInt8]] {
    let finished = try pendingNames().filter { PendingDumpName(fileName: $0)?.role == .finished }
    return try finished.map { name in
      let path = database + "/" + PendingDumpName.directory + "/" + name
      return try Array(Data(contentsOf: URL(filePath: path)))
    }
  }

  /// The bytes of the only finished dump; fails the test if there is not exactly one.
  func onlyDump() throws -> [UInt8] {
    let dumps = try finishedDumps()
    let names = try pendingNames()
    try #require(dumps.count == 1, "\(names)")
    return dumps[0]
  }
}

extension IntermediateDumpMap {
  /// Every map with this key, in file order.
  func all(_ key: IntermediateDumpKey) -> [IntermediateDumpMap] {
    entries.compactMap { entry in
      guard entry.key == key.rawValue, case .map(let map) = entry.value else { return nil }
      return map
    }
  }

  /// The last of the process maps with this key; later maps have better values.
  func last(_ key: IntermediateDumpKey) -> IntermediateDumpMap? {
    entries.compactMap { entry -> IntermediateDumpMap? in
      guard entry.key == IntermediateDumpKey.process.rawValue, case .map(let map) = entry.value
      else { return nil }
      return map
    }.last { $0.data(key) != nil }
  }
}
