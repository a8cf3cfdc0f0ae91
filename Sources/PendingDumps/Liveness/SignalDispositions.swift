internal import IntermediateDump

/// The process's signal dispositions and its ID, found by reading one file instead of making a system call for each
/// signal.
///
/// Source: proc_pid_status(5), SigIgn, SigCgt, SigBlk and NStgid.
package struct SignalDispositions: Sendable, Equatable {
  /// The ignored signals; bit n - 1 stands for signal n.
  package let ignored: UInt64
  /// The signals with a handler.
  package let caught: UInt64
  /// The signals that the calling thread blocks; nil if `/proc` does not show them.
  package let blocked: UInt64?
  /// The process's ID in its own PID namespace, even if `/proc` belongs to another namespace; nil if `/proc` does not
  /// show this ID.
  package let processID: UInt32?

  /// Reads the dispositions of the calling process; nil if `/proc` does not show them.
  package static func current() -> SignalDispositions? {
    SystemFile.bytes("/proc/thread-self/status", isOneRecord: true)
      .flatMap(SignalDispositions.init(statusText:))
  }

  /// Parses the text of a process's `status` file in `/proc`; nil if it lacks the ignored signals or the signals with a
  /// handler.
  package init?(statusText text: [UInt8]) {
    guard let ignored = Self.last("SigIgn:", in: text), let caught = Self.last("SigCgt:", in: text)
    else { return nil }
    (self.ignored, self.caught) = (ignored, caught)
    blocked = Self.last("SigBlk:", in: text)
    // The line has one ID for each nested PID namespace; the last one is the ID in the innermost namespace.
    processID = Self.last("NStgid:", in: text, radix: 10).flatMap { UInt32(exactly: $0) }
  }

  /// Returns the last number of the line that begins with a label.
  private static func last(_ label: String, in text: [UInt8], radix: UInt64 = 16) -> UInt64? {
    let label = Array(label.utf8)
    var start = 0
    while start < text.count {
      let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
      let line = text[start..<end]
      if line.starts(with: label) {
        var first = end
        while first > start, text[first - 1] > UInt8(ascii: " ") { first -= 1 }
        first = max(first, start + label.count)
        return UInt64(digits: String(decoding: text[first..<end], as: UTF8.self)[...], radix: radix)
      }
      start = end + 1
    }
    return nil
  }
}
