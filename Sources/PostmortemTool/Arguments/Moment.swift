internal import Glibc
internal import IntermediateDump

extension Arguments {
  /// The period between `--since` and `--until`.
  func period() throws(ToolError) -> Period {
    let now = Timestamp.now
    return Period(since: try moment("--since", now), until: try moment("--until", now))
  }

  private func moment(_ option: String, _ now: Timestamp) throws(ToolError) -> Timestamp? {
    guard let text = self[option] else { return nil }
    guard let moment = Timestamp(option: text, now: now) else {
      throw usage(
        "\(option): '\(text.escapedForMessage)' is neither an age (90m, 12h, 7d, \"2 hours ago\") nor a "
          + "date in UTC (yesterday, 2026-11-22, 2026-11-22T21:05)")
    }
    return moment
  }
}

/// A period of time whose beginning and end may be open.
struct Period {
  var since: Timestamp?
  var until: Timestamp?

  func contains(_ time: Timestamp) -> Bool {
    (since.map { time >= $0 } ?? true) && (until.map { time <= $0 } ?? true)
  }
}

extension Timestamp {
  /// The current time in whole seconds.
  static var now: Timestamp { Timestamp(seconds: Int64(time(nil))) }

  /// Reads a moment from an option, in the forms that journalctl, docker and this tool's own JSON use.
  ///
  /// The forms are an age, `now` or a word for a day, an `@` followed by the seconds since 1970, a time of day, and a
  /// date with or without a time of day. A time without a time zone is in UTC.
  ///
  /// - Parameter now: the current time, to which ages and words for days refer.
  ///
  /// Source: systemd.time(7), "Parsing timestamps".
  init?(option text: String, now: Timestamp) {
    var text = text.withoutOuterWhitespace
    if let day = Self.days[text.lowercased()] {
      let midnight = now.seconds.dividedDown(by: 86_400) &* 86_400
      self = day.map { Timestamp(seconds: midnight &+ $0 &* 86_400) } ?? now
      return
    }
    if text.hasPrefix("@"), let seconds = Int64(text.dropFirst()) {
      self.init(seconds: seconds)
      return
    }
    let isAgo = text.hasSuffix(" ago")
    if let age = Age(isAgo ? String(text.dropLast(4)) : text, allowsSign: !isAgo) {
      self = now.advanced(by: .seconds(0 &- age.seconds))
      return
    }
    guard let date = Self.withoutDecoration(&text, now: now) else { return nil }
    self = date
  }

  /// The words for moments, each with the number of days from today; nil for the current moment.
  ///
  /// A word with a number means the beginning of that day.
  private static let days: [String: Int64?] = [
    "now": nil, "today": 0, "yesterday": -1, "tomorrow": 1,
  ]

  private static let weekdays: Set = [
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "monday", "tuesday", "wednesday", "thursday",
    "friday", "saturday", "sunday",
  ]

  /// Reads a date, a time of day, or both, with an optional day of the week before them and an optional time zone after
  /// them.
  private static func withoutDecoration(_ text: inout String, now: Timestamp) -> Timestamp? {
    if let end = text.firstIndex(of: " "), weekdays.contains(text[..<end].lowercased()) {
      text = String(text[text.index(after: end)...])
    }
    var offset: Int64 = 0
    if text.hasSuffix(" UTC") {
      text.removeLast(4)
    } else if text.hasSuffix("Z") || text.hasSuffix("z") {
      text.removeLast()
    } else if let zone = text.firstMatch(of: /^(.*[0-9])[ ]?([+-])([0-9]{2}):?([0-9]{2})$/),
      zone.1.contains(":"), let hours = Int64(zone.3), let minutes = Int64(zone.4), hours < 24,
      minutes < 60
    {
      offset = (zone.2 == "-" ? -1 : 1) &* (hours &* 3600 &+ minutes &* 60)
      text = String(zone.1)
    }
    // A time of day without a date means that time today.
    if text.wholeMatch(of: /[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?/) != nil {
      text = now.description.prefix(10) + "T" + text
    }
    let shortest = "0000-00-00T00:00:00.000000000Z"
    var given = text.replacing(" ", with: "T")
    // Fractions of a second are extended to nine digits, as in `shortest`.
    if given.utf8.count > 20, given.utf8.count < 29, given.dropFirst(19).first == "." {
      given += String(repeating: "0", count: 29 - given.utf8.count)
    }
    guard [10, 16, 19, 29].contains(given.utf8.count),
      let local = Timestamp(given + shortest.dropFirst(given.count))
    else { return nil }
    return local.advanced(by: .seconds(0 &- offset))
  }
}

/// A duration in the forms that options accept, such as "90m", "7d", "2weeks", "1d12h" and "1 hour 30 min".
///
/// Source: systemd.time(7), "Parsing time spans".
struct Age {
  let seconds: Int64

  private static let units: [String: Int64] = {
    var units: [String: Int64] = [:]
    for (seconds, names) in [
      (1, ["s", "sec", "second", "seconds"]), (60, ["m", "min", "minute", "minutes"]),
      (3600, ["h", "hr", "hour", "hours"]), (86_400, ["d", "day", "days"]),
      (7 * 86_400, ["w", "week", "weeks"]), (2_629_800, ["M", "month", "months"]),
      (31_557_600, ["y", "year", "years"]),
    ] as [(Int64, [String])] {
      for name in names { units[name] = seconds }
    }
    return units
  }()

  /// Reads a duration; returns nil if the text is not a duration, or contains a number greater than a million.
  ///
  /// - Parameter allowsSign: true to accept and ignore a leading minus, which journalctl uses for a time in the past.
  init?(_ text: String, allowsSign: Bool = false) {
    var rest = text[...]
    if allowsSign, rest.hasPrefix("-") { rest = rest.dropFirst() }
    guard !rest.isEmpty else { return nil }
    var sum: Int64 = 0
    while let part = rest.prefixMatch(of: /[ ]*([0-9]{1,7})[ ]*([A-Za-z]+)/) {
      let unit = Self.units[String(part.2)] ?? Self.units[part.2.lowercased()]
      guard let count = Int64(part.1), count <= 1_000_000, let unit else { return nil }
      sum = sum.clampedAdding(count.clampedMultiplied(by: unit))
      rest = rest[part.range.upperBound...]
    }
    guard rest.allSatisfy({ $0 == " " }) else { return nil }
    seconds = sum
  }
}

/// A number of bytes in the forms that options accept, such as "500M", "1G" and "10GiB".
enum ByteCount {
  /// Reads a number of bytes; returns nil if the text is not a size, or has no unit.
  static func bytes(_ text: String) -> Int64? {
    guard let parts = text.uppercased().wholeMatch(of: /([0-9]{1,9}) *([KMGT]?)(I?B)?/),
      !parts.2.isEmpty || parts.3 != nil, let count = Int64(parts.1)
    else { return nil }
    let shift = ["": 0, "K": 10, "M": 20, "G": 30, "T": 40][String(parts.2)] ?? 0
    return count.clampedMultiplied(by: Int64(1) << Int64(shift))
  }
}

extension Int64 {
  /// Divides, and rounds the quotient down.
  fileprivate func dividedDown(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient &- 1 : quotient
  }
}
