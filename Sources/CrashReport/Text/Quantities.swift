internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

/// Formats sizes, durations and numbers for people.
package enum Quantity {
  /// A size in the largest unit that is not larger than the size; a number below ten has one decimal place, unless that
  /// place is 0.
  package static func size(_ bytes: UInt64) -> String {
    var unit = 0
    while unit < 4, bytes >> (10 * (unit + 1)) > 0 { unit += 1 }
    guard unit > 0 else { return "\(bytes) bytes" }
    let name = ["KiB", "MiB", "GiB", "TiB"][unit - 1]
    let shift = 10 * unit
    let whole = bytes >> shift
    let tenth = ((bytes >> (shift - 10)) & 1023) &* 10 / 1024
    return whole < 10 && tenth > 0 ? "\(whole).\(tenth) \(name)" : "\(whole) \(name)"
  }

  /// A distance between two addresses as text; a distance below 10 KiB is exact.
  static func distance(_ bytes: UInt64) -> String {
    switch bytes {
    case ..<10_240: "\(bytes) bytes"
    case ..<(10 << 20): "\(bytes >> 10) KiB"
    case ..<(10 << 30): "\(bytes >> 20) MiB"
    default: "\(bytes >> 30) GiB"
    }
  }

  static func duration(_ nanoseconds: Int64) -> String {
    switch nanoseconds {
    case 0..<10_000: "less than 0.01 ms"
    case 10_000..<1_000_000: hundredths(nanoseconds / 10_000) + " ms"
    case ..<1_000_000_000: "\(nanoseconds / 1_000_000) ms"
    case ..<10_000_000_000:
      "\(nanoseconds / 1_000_000_000).\(nanoseconds / 100_000_000 % 10) s"
    case ..<7_200_000_000_000: "\(nanoseconds / 1_000_000_000) s"
    default: "\(nanoseconds / 3_600_000_000_000) h"
    }
  }

  /// A number of hundredths as text, for example "0.23" for 23.
  private static func hundredths(_ count: Int64) -> String {
    "0." + (count < 10 ? "0" : "") + "\(count)"
  }

  /// A number with a noun, for example "1 thread" or "2 threads".
  static func counted(_ count: UInt64, _ noun: String) -> String {
    "\(count) \(noun)" + (count == 1 ? "" : "s")
  }

  /// A number with commas between groups of three digits, such as "65,530".
  package static func grouped(_ number: Int) -> String {
    let digits = Array(String(number))
    var result = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { result += "," }
      result.append(digit)
    }
    return result
  }
}

extension UInt64? {
  /// The number itself; nil for 0.
  var nonzero: UInt64? { self == 0 ? nil : self }
}

extension Address {
  /// The address with at least 12 digits, to align columns; most user addresses have at most 12 digits.
  var padded: String { "0x" + value.hexadecimal(digits: 12) }

  /// The address with 16 digits and without a prefix, for registers.
  var wide: String { value.hexadecimal(digits: 16) }
}

extension String {
  /// The text, padded with spaces at its end to a number of columns.
  func padded(to columns: Int) -> String {
    self + String(repeating: " ", count: max(0, columns - count))
  }

  /// The text, padded with spaces at its beginning to a number of columns.
  func indented(to columns: Int) -> String {
    String(repeating: " ", count: max(0, columns - count)) + self
  }

  /// The short name of a mapping: the end of a path, or a name such as "[heap]".
  var shortMappingName: String { hasPrefix("/") ? shortPath : self }

  /// The last directory and the file name of a path, which usually distinguish files with the same name.
  var shortPath: String { split(separator: "/").suffix(2).joined(separator: "/") }
}
