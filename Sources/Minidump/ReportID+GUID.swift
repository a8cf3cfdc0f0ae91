internal import IntermediateDump

extension ReportID {
  /// The bytes of a GUID structure: its first three fields are little-endian.
  ///
  /// Source: Microsoft guiddef.h.
  var guidBytes: [UInt8] { Self.swapped(bytes) }

  /// Reads a GUID structure; nil for all zeros, which stands for none.
  init?(guidBytes: ArraySlice<UInt8>) {
    guard guidBytes.count == 16, guidBytes.contains(where: { $0 != 0 }) else { return nil }
    self.init(bytes: Self.swapped(Array(guidBytes)))
  }

  /// The order of a GUID structure for the order of print, and the other way round.
  static func swapped(_ bytes: [UInt8]) -> [UInt8] {
    [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map { bytes[$0] }
  }
}
