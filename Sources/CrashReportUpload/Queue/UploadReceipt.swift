internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump

/// The part of a server's answer that confirms or refuses the receipt of a report.
///
/// Not every answer with status 200 is a receipt: a captive portal, a proxy or a wrong address answers 200 with a web
/// page, and some servers answer 200 with an error.
enum UploadReceipt: Sendable, Equatable {
  /// The server has the report; the server's ID for the report is empty if the server returned none.
  case given(serverID: String)
  /// The server's answer says that the server does not keep the report.
  case refused(reason: String)
  /// The answer, which the text describes, is neither a confirmation nor a refusal, so the report is sent again later.
  case missing(String)

  /// The HTTP statuses that can come with a receipt.
  ///
  /// A server accepts a report with one of them; 203 means that a proxy has changed the server's answer.
  private static let statuses = [200, 201, 202, 203, 204]

  /// Reads the answer to a form.
  ///
  /// A receipt is the report's ID as one word (from Crashpad's and Breakpad's servers), a line `CrashID=ID` (from
  /// Socorro), JSON (from the servers of Backtrace and others), or an empty body. With status 203, an empty body is not
  /// a receipt, because a proxy may have removed the server's body.
  ///
  /// Source: Crashpad `handler/crash_report_upload_thread.cc`, UploadReport; Socorro's Antenna,
  /// `breakpad_resource.py`.
  init(form response: UploadResponse) {
    let body = Self.text(of: response.body)
    guard Self.statuses.contains(response.status) else {
      self = .missing("no receipt" + Self.words(of: response.body))
      return
    }
    // An answer whose first line is `CrashID=...` or `Discarded=...` comes from Socorro, whatever text follows.
    let line = String(body.prefix { !$0.isNewline })
    if line.hasPrefix("CrashID="), Self.isWord(line) {
      self = .given(serverID: String(line.dropFirst(8)))
    } else if line.hasPrefix("Discarded="), Self.isWord(line) {
      self = .refused(reason: "the server does not keep such reports: \(line)")
    } else if body.isEmpty, response.status != 203 {
      self = .given(serverID: "")
    } else if Self.isID(body) {
      self = .given(serverID: body)
    } else if let id = JSONAnswer(body)?.receipt {
      self = .given(serverID: id)
    } else {
      self = .missing("no receipt" + Self.words(of: response.body))
    }
  }

  /// Reads the answer to an envelope: JSON with the event's ID.
  ///
  /// Source: develop.sentry.dev, "Envelopes", Ingestion.
  init(envelope response: UploadResponse) {
    let body = Self.text(of: response.body)
    if Self.statuses.contains(response.status), let id = JSONAnswer(body)?.eventID {
      self = .given(serverID: id)
    } else {
      self = .missing("no receipt" + Self.words(of: response.body))
    }
  }

  // MARK: - Texts

  private static func text(of body: [UInt8]) -> String {
    var text = String(decoding: body, as: UTF8.self)[...]
    if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
    return text.withoutOuterWhitespace
  }

  /// True for a text that can be a report's ID: one word of at most 256 bytes that is not a word such as "error".
  static func isID(_ text: String) -> Bool {
    isWord(text) && !refusals.contains(text.lowercased())
  }

  private static func isWord(_ text: String) -> Bool {
    (1...256).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: "-_.:/+=~@%#?&,".utf8.contains(byte)
        }
      }
  }

  /// Words that servers send with status 200 instead of an ID; such an answer is not a receipt.
  private static let refusals: Set = [
    "error", "fail", "failed", "failure", "false", "true", "null", "none", "nil", "undefined",
    "invalid",
    "denied", "forbidden", "unauthorized", "rejected", "refused", "discarded", "unavailable",
  ]

  /// True for an error in the form of servers of reports: JSON that says so, or Socorro's line.
  static func isError(_ body: [UInt8]) -> Bool {
    let text = text(of: body)
    return text.hasPrefix("Discarded=") || JSONAnswer(text)?.isRefusal == true
  }

  /// True for a body that begins with `<`, as HTML does; a receipt never begins with `<`.
  static func isWebPage(_ body: [UInt8]) -> Bool { text(of: body).hasPrefix("<") }

  /// Describes the body of an answer, to be printed after the answer's status; empty if the body has no text.
  ///
  /// The description is the title of a web page, the beginning of JSON, or the first line of other text.
  static func words(of body: [UInt8]) -> String {
    let text = text(of: body)
    if text.isEmpty { return "" }
    guard text.hasPrefix("<") else {
      // JSON is taken whole, because its first line may be only a bracket.
      let isJSON = text.hasPrefix("{") || text.hasPrefix("[")
      let line = isJSON ? text : String(text.prefix { !$0.isNewline })
      return ": " + printable(line, limit: 256)
    }
    let name = title(of: text)
    return ", answered by a web page" + (name.isEmpty ? "" : ": \(name)")
  }

  private static func title(of page: String) -> String {
    guard let title = page.firstMatch(of: /(?is)<title[^>]*>(.*?)<\/title/) else { return "" }
    let words = title.1.split(whereSeparator: \.isWhitespace)
    return printable(words.joined(separator: " "), limit: 100)
  }

  /// Removes control characters, because a server may send any text, and cuts the text to `limit` characters.
  static func printable(_ text: String, limit: Int) -> String {
    let scalars = text.unicodeScalars.filter {
      $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
    }
    return String(String.UnicodeScalarView(scalars.prefix(limit))).withoutOuterWhitespace
  }
}

/// A JSON answer, with the members that show whether it is a receipt.
private struct JSONAnswer {
  private enum Value: Decodable {
    case text(String)
    case number(String, Double)
    case bool(Bool)
    case null
    case other(isEmpty: Bool)

    init(from decoder: any Decoder) throws {
      if let list = try? decoder.unkeyedContainer() {
        self = .other(isEmpty: list.isAtEnd)
        return
      }
      if (try? decoder.container(keyedBy: Key.self)) != nil {
        self = .other(isEmpty: false)
        return
      }
      let value = try decoder.singleValueContainer()
      if let bool = try? value.decode(Bool.self) {
        self = .bool(bool)
      } else if let text = try? value.decode(String.self) {
        self = .text(text)
      } else if let number = try? value.decode(Int64.self) {
        self = .number("\(number)", Double(number))
      } else if let number = try? value.decode(UInt64.self) {
        self = .number("\(number)", Double(number))
      } else if let number = try? value.decode(Double.self) {
        self = .number("\(number)", number)
      } else {
        self = .null
      }
    }
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// The members by name, with the names in lower case and without `_` and `-`; nil if the JSON is not an object.
  private let members: [String: Value]?
  /// The text, if the JSON is only a string; otherwise nil.
  private let scalar: String?

  /// Returns nil for a text that is not JSON.
  init?(_ text: String) {
    let bytes = Data(text.utf8)
    if let members = try? JSONDecoder().decode([String: Value].self, from: bytes) {
      let named = members.map { name, value in
        (name.lowercased().filter { $0 != "_" && $0 != "-" }, value)
      }
      // If two names become equal, only one of their values is kept; it is not defined which.
      self.members = Dictionary(named) { first, _ in first }
      scalar = nil
    } else if let value = try? JSONDecoder().decode(Value.self, from: bytes) {
      members = nil
      scalar = if case .text(let text) = value { text } else { nil }
    } else {
      return nil
    }
  }

  /// The ID in a receipt, or an empty text if the receipt has no ID; nil if the answer is not a receipt.
  var receipt: String? {
    guard members != nil else { return scalar.flatMap { UploadReceipt.isID($0) ? $0 : nil } }
    guard !isError else { return nil }
    return id(among: Self.idNames) ?? (isSuccess ? "" : nil)
  }

  /// The value of the member `id`; nil if there is no such member, or if the answer is an error.
  var eventID: String? { isError ? nil : id(among: ["id"]) }

  private static let idNames = [
    "id", "eventid", "crashid", "reportid", "uuid", "guid", "rxid", "uploadid", "objectid",
  ]

  private func id(among names: [String]) -> String? {
    for name in names {
      switch members?[name] {
      case .text(let text) where UploadReceipt.isID(text): return text
      case .number(let text, _): return text
      default: continue
      }
    }
    return nil
  }

  /// The names of members that give the outcome in one word or number.
  private static let outcomes = ["status", "response", "result", "code", "statuscode"]
  private static let good: Set = [
    "ok", "success", "succeeded", "successful", "accepted", "received", "created", "done", "queued",
  ]
  /// Parts of words that mean a failure.
  private static let bad = [
    "err", "fail", "reject", "refus", "denied", "invalid", "forbid", "unauth", "unavail", "exceed",
  ]

  /// True if the answer is an error, or has Relay's member `detail` with the reason.
  var isRefusal: Bool {
    if case .text(let detail) = members?["detail"], !detail.isEmpty { return true }
    return members != nil && isError
  }

  private var isError: Bool {
    for name in ["error", "errors", "exception", "errorcode", "errormessage"] {
      switch members?[name] {
      case .text(let text) where !text.isEmpty: return true
      case .number(_, let number) where number != 0: return true
      case .bool(true), .other(isEmpty: false): return true
      default: continue
      }
    }
    for name in ["success", "ok", "accepted"] {
      switch members?[name] {
      case .bool(false): return true
      case .number(_, 0): return true
      case .text(let text) where ["false", "no", "0"].contains(text.lowercased()): return true
      default: continue
      }
    }
    for name in Self.outcomes {
      switch members?[name] {
      case .text(let text):
        if Self.bad.contains(where: text.lowercased().contains) { return true }
        if let number = Int(text), number >= 300 { return true }
      case .number(_, let number) where number >= 300 || number < 0: return true
      default: continue
      }
    }
    return false
  }

  private var isSuccess: Bool {
    for name in ["success", "ok", "accepted"] {
      if case .bool(true) = members?[name] { return true }
    }
    return Self.outcomes.contains { name in
      switch members?[name] {
      case .text(let text): Self.good.contains(text.lowercased())
      case .number(_, let number): (200..<300).contains(number)
      default: false
      }
    }
  }
}
