/// Formats times for people, without Foundation.
public enum TimeText {
  /// Formats the time in UTC in ISO 8601 form, with nanoseconds; works for every value.
  ///
  /// The Gregorian calendar is used, even for days before it was introduced.
  ///
  /// - Parameter nanoseconds: the number of nanoseconds since 1970.
  public static func utc(nanoseconds: Int64) -> String {
    // After this division, the numbers are too small to overflow 64 bits.
    let (seconds, fraction) = floored(Int(nanoseconds), by: 1_000_000_000)
    let (days, second) = floored(seconds, by: 86_400)
    // Days are counted from March 1 of the year 0, so that a leap day is the last day of its year. An era has 400
    // years, which are 146,097 days.
    let (era, dayOfEra) = floored(days + 719_468, by: 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let fields: [(value: Int, digits: Int, mark: Unicode.Scalar)] = [
      (year, 4, "-"), (month, 2, "-"), (day, 2, "T"), (second / 3600, 2, ":"),
      (second / 60 % 60, 2, ":"), (second % 60, 2, "."), (fraction, 9, "Z"),
    ]
    // A list may contain thousands of timestamps, so this code creates no string for each field. All years that 64 bits
    // of nanoseconds can represent have four digits.
    return unsafe String(unsafeUninitializedCapacity: 30) { text in
      var end = 0
      for (value, digits, mark) in fields {
        var value = value
        for place in stride(from: end + digits - 1, through: end, by: -1) {
          unsafe text[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value % 10)
          value /= 10
        }
        end += digits
        unsafe text[end] = UInt8(ascii: mark)
        end += 1
      }
      return end
    }
  }

  private static func floored(_ value: Int, by divisor: Int) -> (Int, Int) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
