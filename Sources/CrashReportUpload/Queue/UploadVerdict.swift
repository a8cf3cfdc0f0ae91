internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump

/// What a server's answer means for a report.
enum UploadVerdict: Sendable, Equatable {
  case uploaded(serverID: String)
  /// The upload should be tried later; `after` is the number of seconds to wait if the server names a time.
  ///
  /// `holdsAll` is true if all reports must wait, because the answer is not about this report. For example, the server
  /// has limited the sender's rate, or the answer is a redirect.
  case retry(after: Int64?, reason: String, holdsAll: Bool)
  /// The answer refuses the upload without saying what is wrong with the report; `after` is the number of seconds to wait
  /// if the server names a time.
  ///
  /// `isOfAll` is true if the answer concerns the address or the key, whoever gave the answer. All reports then wait, and
  /// one of them is tried from time to time. Otherwise the answer concerns one report, which waits for a person after
  /// `longestUnclearness`.
  case refused(after: Int64?, reason: String, isOfAll: Bool)
  /// The upload should be tried again without some parts, after the number of seconds that the server names, or
  /// immediately if it names none.
  case tooLarge(after: Int64?, reason: String)
  case skip(reason: String)

  /// The number of seconds after the first unclear answer for a report after which the report waits for a person.
  static let longestUnclearness: Int64 = 86_400

  /// The longest time, in seconds, that an upload waits because a server asks for it; a longer request is shortened.
  static let longestDelay = UploadDecision.longestDelay

  /// Judges an answer.
  ///
  /// Only a receipt in the protocol's format proves that the server has the report, and only an error in the protocol's
  /// format, with a status that concerns the contents, refuses the report: a proxy, a gateway or a captive portal may have
  /// answered instead of the server. A web page is such an answer of somebody else.
  ///
  /// - Parameters:
  ///   - size: the number of bytes that were sent.
  ///   - now: the current time in seconds since 1970, which is needed if the header Retry-After contains a date.
  ///
  /// Source: RFC 9110, 15 and 10.2.3; RFC 6585, 4.
  static func judge(
    _ response: UploadResponse, size: Int64 = 0, now: Int64
  ) -> UploadVerdict {
    judge(response, UploadReceipt(form: response), size, now)
  }

  /// Judges an answer by its status and by the receipt that was read from its body.
  static func judge(
    _ response: UploadResponse, _ receipt: UploadReceipt, _ size: Int64, _ now: Int64
  ) -> UploadVerdict {
    let status = "HTTP \(response.status)"
    let reason = status + UploadReceipt.words(of: response.body)
    let after = response.retryAfter.flatMap { seconds(retryAfter: $0, now: now) }
    switch response.status {
    case 200..<300:
      switch receipt {
      case .given(let serverID): return .uploaded(serverID: serverID)
      case .refused(let reason): return .skip(reason: reason)
      case .missing(let words):
        let reason = "\(status), \(words)"
        return UploadReceipt.isWebPage(response.body) || after != nil
          ? .retry(after: after, reason: reason, holdsAll: false)
          : .refused(after: nil, reason: reason, isOfAll: false)
      }
    case 300..<400:
      // A captive portal also answers with a redirect, so a redirect does not count as a refusal of the report.
      let target = response.location.map { " to \(UploadReceipt.printable($0, limit: 200))" } ?? ""
      return .retry(
        after: after,
        reason: "\(status), a redirect\(target), which is not followed: give the final URL",
        holdsAll: true)
    case 413:
      return .tooLarge(
        after: after,
        reason: "\(status) for \(size) bytes" + UploadReceipt.words(of: response.body))
    case 429: return .retry(after: after, reason: reason, holdsAll: true)
    // These statuses are about a proxy (407), a timeout (408) or a request that TLS may have replayed (425). They are
    // not about the report, so it is sent again later.
    case 407, 408, 425: return .retry(after: after, reason: reason, holdsAll: false)
    // These statuses concern the contents of a request.
    case 400, 409, 415, 422:
      if after == nil, UploadReceipt.isError(response.body) { return .skip(reason: reason) }
      return UploadReceipt.isWebPage(response.body) || after != nil
        ? .retry(after: after, reason: reason, holdsAll: false)
        : .refused(after: nil, reason: reason, isOfAll: false)
    // The other ones concern the address (404, 405, 410), the key (401, 403), or the way to the server.
    case 400..<500: return .refused(after: after, reason: reason, isOfAll: true)
    default: return .retry(after: after, reason: reason, holdsAll: after != nil)
    }
  }

  /// The latest date that is accepted in a Retry-After header, as a number of seconds from now.
  private static let longestDate: Int64 = 365 * 86_400

  /// The number of seconds to wait, from a Retry-After header with a number or a date; nil for anything else, and for a
  /// date more than a year ahead.
  static func seconds(retryAfter text: String, now: Int64) -> Int64? {
    let text = text.withoutOuterWhitespace
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return min(Int64(text) ?? longestDelay, longestDelay)
    }
    guard let time = Self.time(date: text) else { return nil }
    let delay = max(0, time.clampedSubtracting(now))
    // A date more than a year ahead is ignored, because the clock of the server or of this machine must be wrong.
    return delay > longestDate ? nil : min(delay, longestDelay)
  }
}

extension UploadVerdict {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The time of a date in the form of HTTP, in seconds since 1970; nil for any other text.
  ///
  /// Source: RFC 9110, 5.6.7, "IMF-fixdate".
  private static func time(date text: String) -> Int64? {
    let form = /[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT/
    guard let parts = text.wholeMatch(of: form)?.output,
      let month = months.firstIndex(of: String(parts.2)).map({ "\($0 + 101)".dropFirst() }),
      let date = try? Date(
        "\(parts.3)-\(month)-\(parts.1)T\(parts.4):\(parts.5):\(parts.6)Z", strategy: .iso8601)
    else { return nil }
    return Int64(exactly: date.timeIntervalSince1970.rounded())
  }
}

/// The delay after failures, which doubles with each failure and has a random part.
enum UploadBackoff {
  /// The delay in seconds after the first failure; `delay(failures:random:)` subtracts a random part.
  static let shortest: Int64 = 60
  static let longest: Int64 = 8 * 3600

  /// The wait in seconds after a number of failures; up to half of the full delay is subtracted at random.
  ///
  /// - Parameter random: a number from 0 to 1, which keeps clients that failed at the same moment from trying
  ///   again at the same moment.
  static func delay(failures: Int, random: Double) -> Int64 {
    let doublings = min(max(failures, 1) - 1, 16)
    let full = min(shortest << Int64(doublings), longest)
    let share = (0...1).contains(random) ? random : 1
    return full / 2 &+ (Int64(exactly: (Double(full &- full / 2) * share).rounded(.down)) ?? 0)
  }

  /// The wait in seconds after a refusal, for as long as uploads have been refused; a part is subtracted at random.
  ///
  /// So the delay doubles with each attempt, whichever process makes it, and whichever report it sends.
  static func delay(refusedFor seconds: Int64, random: Double) -> Int64 {
    let minutes = max(1, seconds / shortest)
    return delay(failures: Int64.bitWidth - minutes.leadingZeroBitCount, random: random)
  }
}
