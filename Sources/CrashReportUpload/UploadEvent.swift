public import IntermediateDump

/// What an uploader does, as it happens.
public enum UploadEvent: Sendable, Equatable, CustomStringConvertible {
  /// An upload begins; the bytes are those of the whole request body.
  case began(ReportID, attempt: Int, bytes: Int64)
  /// So many bytes of it have gone out; about once a MiB.
  case progressed(ReportID, sent: Int64, of: Int64)
  /// The server has the report; the ID is what it called it, empty where it said nothing.
  case uploaded(ReportID, serverID: String)
  /// It did not work now; it is tried again after a time, in seconds since 1970.
  case delayed(ReportID, until: Int64, reason: String)
  /// It is never tried again unless somebody asks for it.
  case skipped(ReportID, reason: String)
  /// The database could not be read or written; it is looked at again.
  case failed(reason: String)

  public var description: String {
    switch self {
    case .began(let id, let attempt, let bytes): "\(id): attempt \(attempt), \(bytes) bytes"
    case .progressed(let id, let sent, let total): "\(id): \(sent) of \(total) bytes"
    case .uploaded(let id, let serverID):
      serverID.isEmpty ? "\(id): uploaded" : "\(id): uploaded, the server calls it \(serverID)"
    case .delayed(let id, let time, let reason): "\(id): not before \(time): \(reason)"
    case .skipped(let id, let reason): "\(id): skipped: \(reason)"
    case .failed(let reason): "uploads are held up: \(reason)"
    }
  }
}
