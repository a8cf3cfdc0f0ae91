internal import Foundation
internal import IntermediateDump

/// What an answer means for a report.
enum UploadVerdict: Sendable, Equatable {
  case uploaded(serverID: String)
  /// Later: not before so many seconds have passed, if the server says so.
  ///
  /// `holdsAll` is true if it is about the sender, not the report.
  case retry(after: Int64?, reason: String, holdsAll: Bool)
  case skip(reason: String)

  /// The longest that a server may put us off, in seconds; one that asks for more is asked again.
  static let longestDelay: Int64 = 24 * 3600

  /// Judges an answer.
  ///
  /// - Parameter now: seconds since 1970, for a Retry-After that is a date.
  ///
  /// Source: RFC 9110, 15 and 10.2.3; RFC 6585, 4.
  static func judge(_ response: UploadResponse, now: Int64) -> UploadVerdict {
    let reason = "HTTP \(response.status)" + text(of: response.body)
    let after = response.retryAfter.flatMap { seconds(retryAfter: $0, now: now) }
    switch response.status {
    case 200..<300: return .uploaded(serverID: serverID(in: response.body))
    case 300..<400:
      // What a captive portal answers too, so it says nothing of the report.
      let target = response.location.map { " to \(printable($0, limit: 200))" } ?? ""
      return .retry(
        after: after,
        reason: "HTTP \(response.status), a redirect\(target), which is not followed: "
          + "give the final URL", holdsAll: true)
    case 429: return .retry(after: after, reason: reason, holdsAll: true)
    // Of a proxy, of the time it took, and of a replay that TLS allowed: not of the report.
    case 407, 408, 425: return .retry(after: after, reason: reason, holdsAll: false)
    case 400..<500: return .skip(reason: reason)
    default: return .retry(after: after, reason: reason, holdsAll: after != nil)
    }
  }

  /// Seconds to wait, as a number or until a date; nil where it is neither.
  static func seconds(retryAfter text: String, now: Int64) -> Int64? {
    let text = text.trimmingCharacters(in: .whitespaces)
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return min(Int64(text) ?? longestDelay, longestDelay)
    }
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    guard let date = format.date(from: text) else { return nil }
    let time = Int64(exactly: date.timeIntervalSince1970.rounded()) ?? now
    return min(max(0, time.clampedSubtracting(now)), longestDelay)
  }

  /// What the server called the report: the first line, without Socorro's prefix.
  static func serverID(in body: [UInt8]) -> String {
    let line = body.prefix { $0 != 0x0A && $0 != 0x0D }
    let text = printable(String(decoding: line, as: UTF8.self), limit: 256)
    return text.hasPrefix("CrashID=") ? String(text.dropFirst(8)) : text
  }

  private static func text(of body: [UInt8]) -> String {
    let line = serverID(in: body)
    return line.isEmpty || line.hasPrefix("<") ? "" : ": \(line)"
  }

  /// A server's text is anybody's: one line, no control characters.
  private static func printable(_ text: String, limit: Int) -> String {
    let scalars = text.unicodeScalars.filter {
      $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
    }
    var result = String.UnicodeScalarView()
    result.append(contentsOf: scalars.prefix(limit))
    return String(result).trimmingCharacters(in: .whitespaces)
  }
}
