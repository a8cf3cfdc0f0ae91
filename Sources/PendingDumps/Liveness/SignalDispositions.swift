internal import IntermediateDump

/// The process's signal dispositions and its ID, from one read instead of a system call for each signal.
///
/// Source: proc_pid_status(5), SigIgn, SigCgt, SigBlk and NStgid.
package struct SignalDispositions: Sendable, Equatable {
  /// Bit n - 1 is signal n.
  package let ignored: UInt64
  /// The signals with a handler.
  package let caught: UInt64
  /// Those that the calling thread blocks; nil if `/proc` does not show it.
  package let blocked: UInt64?
  /// The process's ID in its own PID namespace, whichever one `/proc` is of; nil where that does not tell.
  package let processID: UInt32?

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
    // The last one is that of the innermost namespace.
    processID = Self.line("NStgid:", in: text).flatMap { line in
      numberOfDigits(Self.digits(atEndOf: line), radix: 10)
        .flatMap(UInt32.init(exactly:))
    }
  }

  private static func mask(_ label: String, in text: [UInt8]) -> UInt64? {
    line(label, in: text).flatMap { line in
      let digits = line.drop { $0 <= UInt8(ascii: " ") }
      return UInt64(digits: String(decoding: digits, as: UTF8.self)[...], radix: 16)
    }
  }

  private static func digits(atEndOf line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let blank = line.lastIndex { $0 <= UInt8(ascii: " ") }
    return blank.map { line[($0 + 1)...] } ?? line
  }

  /// The rest of the line that begins with a label.
  private static func line(_ label: String, in text: [UInt8]) -> ArraySlice<UInt8>? {
    let label = Array(label.utf8)
    var start = 0
    while start < text.count {
      let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
      let line = text[start..<end]
      if line.starts(with: label) { return line.dropFirst(label.count) }
      start = end + 1
    }
    return nil
  }
}
