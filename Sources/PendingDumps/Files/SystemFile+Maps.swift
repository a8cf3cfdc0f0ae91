internal import IntermediateDump

extension SystemFile {
  /// The path of the file that is mapped at an address; nil if none is.
  ///
  /// The function is not inlined, so that a usual launch does not touch the page with its code.
  ///
  /// Source: proc_pid_maps(5).
  @inline(never)
  static func path(of address: UInt64, inMaps text: String) -> String? {
    for line in text.lazyLines {
      let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
      guard let limits = fields.first?.split(separator: "-"), limits.count == 2,
        let start = UInt64(digits: limits[0], radix: 16),
        let end = UInt64(digits: limits[1], radix: 16), (start..<max(start, end)).contains(address)
      else { continue }
      let path = fields.count == 6 ? fields[5].drop { $0 == " " } : ""
      return path.hasPrefix("/") ? String(path) : nil
    }
    return nil
  }
}
