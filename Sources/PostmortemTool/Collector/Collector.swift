internal import CrashReportDatabase
internal import Foundation
@unsafe @preconcurrency internal import Glibc
internal import IntermediateDump
internal import Synchronization

/// A small collector: takes crash reports by HTTP and stores them in a database.
///
/// One thread a client, a bounded number of them, each within a bounded time; nothing that a client
/// sends names a file.
final class Collector: Sendable {
  struct Limits: Sendable {
    /// Of one request, in bytes.
    var report: Int64 = 200 << 20
    /// Of the database's reports with their attachments, in bytes.
    var quota: Int64 = 4 << 30
    var clients = 16
    /// Seconds without a byte, and those that a request has beyond its bytes.
    var patience = 10
  }

  static let about = """
    This is postmortem collect, a small collector of crash reports for trying out and for small teams.
    POST a form as Crashpad and Breakpad send it (multipart/form-data with upload_file_minidump) to
    this address. It shows no report: see postmortem list and show.

    """

  private let database: CrashReportDatabase
  private let limits: Limits
  private let secret: [UInt8]?
  private let log: @Sendable (String) -> Void
  private let slots: DispatchSemaphore
  private let room: Mutex<Room>

  /// Bytes that are stored, and the most that may be coming in.
  private struct Room {
    var stored: Int64
    var coming: Int64 = 0
  }

  /// - Parameters:
  ///   - secret: what clients must give as `Authorization: Bearer SECRET`; nil for none.
  ///   - log: takes a line for each request.
  init(
    _ database: CrashReportDatabase, limits: Limits, secret: String?,
    log: @escaping @Sendable (String) -> Void
  ) throws {
    self.database = database
    self.limits = limits
    self.secret = secret.map { Array("Bearer \($0)".utf8) }
    self.log = log
    slots = DispatchSemaphore(value: limits.clients)
    room = Mutex(Room(stored: try Self.size(of: database)))
  }

  /// Serves clients until accepting them fails, as it does once the socket was shut down.
  func serve(_ listener: ListeningSocket) {
    while true {
      slots.wait()
      guard let client = listener.accept() else { break }
      Thread.detachNewThread { [self] in
        serve(HTTPConnection(descriptor: client, patience: limits.patience))
        slots.signal()
      }
    }
    // Those that are being served have their time.
    for _ in 1..<limits.clients { _ = slots.wait(timeout: .now() + .seconds(limits.patience)) }
    for _ in 0..<limits.clients { slots.signal() }
  }

  private func serve(_ connection: HTTPConnection) {
    do throws(HTTPFailure) {
      let end = Array("\r\n\r\n".utf8)
      let tooLong = HTTPFailure(431, "the headers are too long")
      guard
        let head = try connection.bytes(
          until: end, limit: HTTPRequestHead.maximumSize, tooLong: tooLong)
      else { return }
      let answer = try answer(to: try HTTPRequestHead(head), connection)
      connection.send(Self.response(200, answer))
    } catch {
      log("\(error.status) \(error.reason)")
      connection.send(Self.response(error.status, error.reason + "\n"))
    }
    connection.finish()
  }

  private func answer(
    to head: HTTPRequestHead, _ connection: HTTPConnection
  ) throws(HTTPFailure) -> String {
    guard isAllowed(head) else {
      throw HTTPFailure(401, "the header Authorization: Bearer SECRET is missing or wrong")
    }
    switch head.method {
    case "POST": break
    case "GET", "HEAD": return head.method == "GET" ? Self.about : ""
    default: throw HTTPFailure(405, "POST a form")
    }
    if let encoding = head["Content-Encoding"], encoding.lowercased() != "identity" {
      throw HTTPFailure(415, "compressed bodies are not taken")
    }
    let type = head["Content-Type"] ?? ""
    guard HTTPRequestHead.value(type) == "multipart/form-data",
      let boundary = HTTPRequestHead.parameter("boundary", of: type),
      var parser = MultipartParser(boundary: boundary)
    else { throw HTTPFailure(415, "not multipart/form-data with a boundary") }
    var body = try HTTPBody(head, connection, limit: limits.report)
    let reserved = if case .bytes(let count) = head.bodyLength { count } else { limits.report }
    try reserve(reserved)
    defer { room.withLock { $0.coming &-= reserved } }
    if head["Expect"]?.lowercased() == "100-continue" {
      connection.send("HTTP/1.1 100 Continue\r\n\r\n")
    }
    let report = ReceivedReport(database)
    while let piece = try body.next() {
      try parser.take(piece) { (event) throws(HTTPFailure) in try report.take(event) }
    }
    guard parser.isComplete else { throw HTTPFailure(400, "the form has no end") }
    let result = try report.store()
    room.withLock { $0.stored = $0.stored.clampedAdding(result.size) }
    log("200 \(result.id)\(result.isNew ? " \(result.size) bytes" : " is here already")")
    return "\(result.id)\n"
  }

  /// Compares all bytes, however many are right.
  private func isAllowed(_ head: HTTPRequestHead) -> Bool {
    guard let secret else { return true }
    let given = Array((head["Authorization"] ?? "").utf8)
    var difference: UInt8 = given.count == secret.count ? 0 : 1
    for (index, byte) in secret.enumerated() {
      difference |= byte ^ (index < given.count ? given[index] : 0)
    }
    return difference == 0
  }

  /// Makes room in the quota for what comes.
  private func reserve(_ bytes: Int64) throws(HTTPFailure) {
    if take(bytes) { return }
    // Reports may have been removed meanwhile.
    if let size = try? Self.size(of: database) { room.withLock { $0.stored = size } }
    // The client keeps the report, and tries again.
    guard take(bytes) else {
      throw HTTPFailure(507, "the quota is used up: see postmortem prune")
    }
  }

  private func take(_ bytes: Int64) -> Bool {
    room.withLock { room in
      let sum = room.stored.clampedAdding(room.coming).clampedAdding(bytes)
      guard sum <= limits.quota else { return false }
      room.coming &+= bytes
      return true
    }
  }

  private static func size(of database: CrashReportDatabase) throws -> Int64 {
    var size: Int64 = 0
    for report in try database.reports() {
      size = size.clampedAdding(report.size)
      for attachment in try database.attachments(of: report.id) {
        size = size.clampedAdding(attachment.size)
      }
    }
    return size
  }

  private static func response(_ status: Int, _ text: String) -> String {
    let phrase =
      [
        200: "OK", 400: "Bad Request", 401: "Unauthorized", 405: "Method Not Allowed",
        408: "Request Timeout", 413: "Content Too Large", 415: "Unsupported Media Type",
        431: "Request Header Fields Too Large", 505: "HTTP Version Not Supported",
        507: "Insufficient Storage",
      ][status] ?? "Error"
    return "HTTP/1.1 \(status) \(phrase)\r\nContent-Type: text/plain; charset=utf-8\r\n"
      + "Content-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
  }
}
