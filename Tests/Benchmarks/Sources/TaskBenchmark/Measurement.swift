/// The cost of one dump.
struct Measurement: CustomStringConvertible {
  let bytes: Int
  let microseconds: Int

  var description: String { "\(bytes) bytes, \(microseconds) microseconds" }

  static func median(_ measurements: [Measurement]) -> Measurement {
    let middle = measurements.count / 2
    return Measurement(
      bytes: measurements.map(\.bytes).sorted()[middle],
      microseconds: measurements.map(\.microseconds).sorted()[middle])
  }
}
