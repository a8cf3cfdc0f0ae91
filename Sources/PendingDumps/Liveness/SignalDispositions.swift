internal import IntermediateDump

/// The process's signal dispositions, from one read instead of a system call for each signal.
///
/// Source: proc_pid_status(5), SigIgn, SigCgt and SigBlk.
package struct SignalDispositions: Sendable, Equatable {
  /// Bit n - 1 is signal n.
  package let ignored: UInt64
  /// The signals with a handler.
  package let caught: UInt64
  /// Those that the calling thread blocks; nil if `/proc` does not show it.
  package let blocked: UInt64?

  /// The dispositions of the calling process; nil if `/proc` does not show them.
  package static func current() -> SignalDispositions? {
    SystemFile.bytes("/proc/thread-self/status", isOneRecord: true)
      .flatMap(SignalDispositions.init(statusText:))
  }

  /// Parses the file's text; nil if it lacks the ignored signals or those with a handler.
  package init?(statusText text: [UInt8]) {
    guard let ignored = Self.mask("SigIgn:", in: text), let caught = Self.mask("SigCgt:", in: text)
    else { return nil }
    (self.ignored, self.caught) = (ignored, caught)
    blocked = Self.mask("SigBlk:", in: text)
  }

  private static func mask(_ label: String, in text: [UInt8]) -> UInt64? {
    let label = Array(label.utf8)
    var start = 0
    while start < text.count {
      let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
      let line = text[start..<end]
      if line.starts(with: label) {
        let digits = line.dropFirst(label.count).drop { $0 <= UInt8(ascii: " ") }
        return UInt64(digits: String(decoding: digits, as: UTF8.self)[...], radix: 16)
      }
      start = end + 1
    }
    return nil
  }
}
