extension TextReport {
  /// Bytes in the largest unit that leaves at least one, with a digit behind the point where that
  /// is less than ten.
  static func size(_ bytes: UInt64) -> String {
    var unit = 0
    while unit < 4, bytes >> (10 * (unit + 1)) > 0 { unit += 1 }
    guard unit > 0 else { return "\(bytes) bytes" }
    let name = ["KiB", "MiB", "GiB", "TiB"][unit - 1]
    let shift = 10 * unit
    let whole = bytes >> shift
    let tenth = ((bytes >> (shift - 10)) & 1023) &* 10 / 1024
    return whole < 10 && tenth > 0 ? "\(whole).\(tenth) \(name)" : "\(whole) \(name)"
  }

  static func duration(_ nanoseconds: Int64) -> String {
    switch nanoseconds {
    case ..<1_000_000: "\(nanoseconds / 1_000) us"
    case ..<10_000_000_000: "\(nanoseconds / 1_000_000) ms"
    case ..<7_200_000_000_000: "\(nanoseconds / 1_000_000_000) s"
    default: "\(nanoseconds / 3_600_000_000_000) h"
    }
  }

  /// The file and its folder, which mostly tell it from others of its name.
  static func shortPath(_ path: String) -> String {
    path.split(separator: "/").suffix(2).joined(separator: "/")
  }
}
