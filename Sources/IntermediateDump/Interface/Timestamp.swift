/// A moment by the system's clock, between the years 1677 and 2262.
///
/// In text and JSON, a moment has the form of ISO 8601 in UTC with nanoseconds: "2026-11-21T14:49:05.123456789Z".
/// Arithmetic whose result is out of range returns the first or the last moment.
public struct Timestamp: InstantProtocol, Codable, LosslessStringConvertible {
  /// The time in nanoseconds since 1970.
  public var nanoseconds: Int64

  /// Creates a moment from nanoseconds.
  ///
  /// - Parameter nanoseconds: the number of nanoseconds since 1970.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Creates a moment; creates the first or the last possible moment if the seconds are out of range.
  ///
  /// - Parameter seconds: the number of seconds since 1970.
  package init(seconds: Int64) {
    self.init(nanoseconds: seconds.clampedMultiplied(by: 1_000_000_000))
  }

  /// The number of whole seconds since 1970, rounded down.
  package var seconds: Int64 {
    let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return remainder < 0 ? quotient &- 1 : quotient
  }

  /// The release date of Swift 6.0.
  ///
  /// This package needs a later version, so no program with this package can have run before this date.
  private static let earliest = Timestamp(seconds: 1_726_531_200)
  /// How far in the future a date may be and still count as possible, in nanoseconds.
  ///
  /// The clocks of two machines may differ, and a clock may be set back.
  private static let tolerance: Int64 = 86_400_000_000_000

  /// True if the date can be correct; false if only a clock that was not set, or was set wrong, can have given it.
  ///
  /// While this machine's clock is not set, the result is false for every date.
  ///
  /// On a machine without a clock battery, the clock is wrong until the machine gets the time from the network; for
  /// example, it starts in 1970.
  ///
  /// - Parameter now: the current time by this machine's clock.
  package func isPossible(at now: Timestamp) -> Bool {
    now >= Self.earliest && self >= Self.earliest
      && nanoseconds <= now.nanoseconds.clampedAdding(Self.tolerance)
  }

  /// A rank by which dates are sorted before the dates themselves are compared; impossible dates count as newer than
  /// possible dates.
  ///
  /// Impossible dates before the current time have the highest rank. While a machine's clock is not set, all dates
  /// since the machine started are such dates, so they belong to its newest files.
  package func newness(at now: Timestamp) -> Int {
    isPossible(at: now) ? 0 : self > now ? 1 : 2
  }

  public func advanced(by duration: Duration) -> Timestamp {
    Timestamp(nanoseconds: nanoseconds.clampedAdding(duration.wholeNanoseconds))
  }

  public func duration(to other: Timestamp) -> Duration {
    .seconds(other.nanoseconds / 1_000_000_000) - .seconds(nanoseconds / 1_000_000_000)
      + .nanoseconds(other.nanoseconds % 1_000_000_000 &- nanoseconds % 1_000_000_000)
  }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// Reads text in the form of `description`; nil for anything else.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    let form = Array("0000-00-00T00:00:00.000000000Z".utf8)
    guard bytes.count == form.count else { return nil }
    for (byte, wanted) in zip(bytes, form) {
      let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
      guard wanted == UInt8(ascii: "0") ? isDigit : byte == wanted else { return nil }
    }
    // The numbers have so few digits that only the steps that compute nanoseconds can overflow; the other steps need no
    // checks.
    func number(_ range: Range<Int>) -> Int {
      bytes[range].reduce(0) { $0 * 10 + Int($1 & 0x0F) }
    }
    let month = number(5..<7)
    guard (1...12).contains(month) else { return nil }
    let days = Self.days(year: number(0..<4), month: month, day: number(8..<10))
    let seconds = days * 86_400 + number(11..<13) * 3_600 + number(14..<16) * 60 + number(17..<19)
    // The second that contains the earliest moments begins too early for 64 bits of nanoseconds. So for a negative
    // time, the next second is converted to nanoseconds, and one second is subtracted afterward.
    let isEarly = seconds < 0
    let (whole, overflow) = (seconds + (isEarly ? 1 : 0))
      .multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow2) = whole.addingReportingOverflow(
      number(20..<29) - (isEarly ? 1_000_000_000 : 0))
    guard !overflow, !overflow2, let sum = Int64(exactly: sum),
      Timestamp(nanoseconds: sum).description == text
    else { return nil }
    nanoseconds = sum
  }

  public var description: String { TimeText.utc(nanoseconds: nanoseconds) }

  /// The moment in a form for people, such as "2026-11-21 14:49:05.123 UTC".
  package var readable: String {
    let text = description
    return text.prefix(10) + " " + text.dropFirst(11).prefix(12) + " UTC"
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = Timestamp(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not a time of the form this schema has: \(text)")
    }
    self = value
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  /// The number of days from 1970 to a date; years are counted from March, so that a leap day is the last day of its
  /// year.
  private static func days(year: Int, month: Int, day: Int) -> Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    // The year has four digits, so the shifted year is negative only for January and February of the year 0. Adding 400
    // makes the dividend positive, because `/` rounds toward 0.
    let era = (shiftedYear + 400) / 400 - 1
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
