internal import Foundation
internal import IntermediateDump

/// The meaning of an answer for a report.
enum UploadVerdict: Sendable, Equatable {
  case uploaded(serverID: String)
  /// Try later; `after` is in seconds, if the server says so.
  ///
  /// `holdsAll` is true if the reason is the sender, not the report.
  case retry(after: Int64?, reason: String, holdsAll: Bool)
  case skip(reason: String)

  /// The longest delay that a server may ask for, in seconds.
  static let longestDelay = UploadDecision.longestDelay

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
      // A captive portal answers so too: the report is not refused.
      let target = response.location.map { " to \(printable($0, limit: 200))" } ?? ""
      return .retry(
        after: after,
        reason: "HTTP \(response.status), a redirect\(target), which is not followed: "
          + "give the final URL", holdsAll: true)
    case 429: return .retry(after: after, reason: reason, holdsAll: true)
    // About a proxy, the time, and a replay that TLS allowed: not about the report.
    case 407, 408, 425: return .retry(after: after, reason: reason, holdsAll: false)
    case 400..<500: return .skip(reason: reason)
    default: return .retry(after: after, reason: reason, holdsAll: after != nil)
    }
  }

  /// Judges the answer to an envelope.
  ///
  /// - Parameter limits: those of this answer, and of the ones before it.
  ///
  /// Source: develop.sentry.dev, "Rate Limiting", "Envelopes", Ingestion.
  static func judge(
    envelope response: UploadResponse, _ limits: SentryRateLimits, now: Int64
  ) -> UploadVerdict {
    switch judge(response, now: now) {
    case .uploaded(let text): return .uploaded(serverID: eventID(in: response.body) ?? text)
    case .retry(let after, let reason, let holdsAll) where response.status == 429:
      let wait = limits.wait(for: .error, now: now) ?? after ?? defaultWait
      return .retry(after: wait, reason: reason, holdsAll: holdsAll)
    case let other: return other
    }
  }

  /// Of a 429 that names no time, in seconds.
  private static let defaultWait: Int64 = 60

  /// The ID in an answer such as `{"id": "..."}`.
  private static func eventID(in body: [UInt8]) -> String? {
    struct Answer: Decodable { let id: String }
    return (try? JSONDecoder().decode(Answer.self, from: Data(body))).map {
      printable($0.id, limit: 256)
    }
  }

  /// Seconds to wait, from a number or a date; nil for anything else.
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

  /// The server's name for the report: the first line, without Socorro's prefix.
  static func serverID(in body: [UInt8]) -> String {
    let line = body.prefix { $0 != 0x0A && $0 != 0x0D }
    let text = printable(String(decoding: line, as: UTF8.self), limit: 256)
    return text.hasPrefix("CrashID=") ? String(text.dropFirst(8)) : text
  }

  private static func text(of body: [UInt8]) -> String {
    let line = serverID(in: body)
    return line.isEmpty || line.hasPrefix("<") ? "" : ": \(line)"
  }

  /// Removes control characters, since a server may send any text.
  private static func printable(_ text: String, limit: Int) -> String {
    let scalars = text.unicodeScalars.filter {
      $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
    }
    return String(String.UnicodeScalarView(scalars.prefix(limit)))
      .trimmingCharacters(in: .whitespaces)
  }
}

/// The delay after failures: doubled each time, and spread by chance.
enum UploadBackoff {
  /// After the first failure, in seconds.
  static let shortest: Int64 = 60
  static let longest: Int64 = 8 * 3600

  /// Seconds after a number of failures, of which at least half is waited.
  ///
  /// - Parameter random: from 0 to 1; spreads clients that failed at the same moment.
  static func delay(failures: Int, random: Double) -> Int64 {
    let doublings = min(max(failures, 1) - 1, 16)
    let full = min(shortest << Int64(doublings), longest)
    let share = (0...1).contains(random) ? random : 1
    return full / 2 &+ (Int64(exactly: (Double(full &- full / 2) * share).rounded(.down)) ?? 0)
  }
}
