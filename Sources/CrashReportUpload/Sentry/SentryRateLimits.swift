internal import Glibc
internal import IntermediateDump
internal import Synchronization

/// The times until which a server accepts no events, or no attachments.
///
/// Source: develop.sentry.dev, "Rate Limiting".
final class SentryRateLimits: Sendable {
  /// A kind of data that this package sends and that has its own limit.
  enum Category: String, Sendable, CaseIterable {
    case error
    case attachment
  }

  private let ends = Mutex<[Category: Int64]>([:])

  /// Stores the limits that an answer sets; a later answer never makes a limit end earlier.
  ///
  /// - Parameters:
  ///   - header: the value of the header `X-Sentry-Rate-Limits`; nil if the answer has no such header.
  ///   - now: the current time in seconds since 1970.
  func take(_ header: String?, now: Int64) {
    guard let header else { return }
    let limits = Self.limits(in: header)
    ends.withLock { ends in
      for (category, seconds) in limits {
        ends[category] = max(ends[category] ?? 0, now.clampedAdding(seconds))
      }
    }
  }

  /// The number of seconds until a category may be sent again; nil if it may be sent now.
  func wait(for category: Category, now: Int64) -> Int64? {
    let left = ends.withLock { $0[category] ?? 0 }.clampedSubtracting(now)
    // Stored limits are at most `longestDelay` long. If more time is left, the clock was set back, so the limit is
    // ignored.
    return left > 0 && left <= UploadVerdict.longestDelay ? left : nil
  }

  /// The longest limit of each category in a header, in seconds.
  ///
  /// Each limit is `SECONDS:CATEGORY;CATEGORY:SCOPE:...`; without a category, it applies to all categories.
  /// Categories of data that this package does not send, and entries that cannot be read, are ignored.
  static func limits(in header: String) -> [Category: Int64] {
    var limits: [Category: Int64] = [:]
    for limit in header.prefix(4096).split(separator: ",") {
      let parts = limit.split(separator: ":", omittingEmptySubsequences: false)
        .map(\.withoutOuterWhitespace)
      guard let first = parts.first, let seconds = Self.seconds(first) else { continue }
      let names = parts.count > 1 ? parts[1].split(separator: ";").map(String.init) : []
      let categories =
        names.isEmpty ? Category.allCases : names.compactMap { Category(rawValue: $0) }
      for category in categories { limits[category] = max(limits[category] ?? 0, seconds) }
    }
    return limits
  }

  /// Reads whole seconds; a fraction counts as one more second.
  private static func seconds(_ text: String) -> Int64? {
    guard let number = Double(text), number.isFinite, number >= 0 else { return nil }
    return Int64(min(number.rounded(.up), Double(UploadVerdict.longestDelay)))
  }
}
