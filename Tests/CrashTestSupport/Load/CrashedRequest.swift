internal import CrashReportDatabase
internal import Foundation
internal import Minidump
internal import ProcessSnapshot

/// The request that a report names as the one that crashed.
public struct CrashedRequest: Hashable, Sendable, Comparable {
  /// The value of the context `request-id`; empty if the report has none.
  public let id: String
  /// The value of the context `request`: method and path.
  public let request: String

  public init(id: String, request: String) {
    self.id = id
    self.request = request
  }

  /// The requests in all reports of a database, sorted; one for each report.
  public static func all(in database: String) throws -> [CrashedRequest] {
    try CrashReportDatabase(path: database).reports().map { report in
      let bytes = try Data(contentsOf: URL(fileURLWithPath: report.path))
      let snapshot = try MinidumpReader.snapshot(of: [UInt8](bytes))
      let contexts =
        snapshot.exception.flatMap { snapshot.client.contextsByThread[$0.threadID] } ?? []
      func value(_ name: String) -> String { contexts.first { $0.name == name }?.value ?? "" }
      return CrashedRequest(id: value("request-id"), request: value("request"))
    }.sorted()
  }

  public static func < (left: CrashedRequest, right: CrashedRequest) -> Bool {
    (left.id, left.request) < (right.id, right.request)
  }
}
