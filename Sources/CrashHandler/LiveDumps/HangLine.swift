internal import CSignalSafe
internal import Glibc
package import IntermediateDump

/// A line on standard error that says that a hang has begun or ended.
///
/// Not crash code. Source: poll(2), pipe(7).
package enum HangLine {
  /// Writes a line about a hang, or nothing if the write could wait.
  ///
  /// Nothing is written if the handler writes no summaries (`HandlerOptions.writesSummary`) or leaves out secrets, or
  /// if descriptor 2 no longer refers to the file to which it referred at launch.
  ///
  /// - Parameter reportID: the report that the command at the end of the line shows; nil for no command.
  /// - Returns: true if the line was written.
  package static func write(_ text: String, report reportID: ReportID? = nil) -> Bool {
    guard let capture = Capture.ofHandler else { return false }
    let summary = capture.installed.summary
    guard summary.signals != 0, !capture.installed.isSanitized,
      capture.isSame(summary.standardError)
    else { return false }
    var text = text
    if let reportID {
      let command = unsafe String(
        decoding: UnsafeRawBufferPointer(
          start: summary.command.address, count: summary.command.count),
        as: UTF8.self)
      text += "; to see it: \(command)\(reportID.description.prefix(8))"
    }
    // The text contains a name that the program chose.
    let plain = text.utf8.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }
    let line = Array("postmortem[\(pm_getpid())]: ".utf8) + plain + [0x0A]
    guard pm_wait_writable(STDERR_FILENO, 0) == Int(POLLOUT) else { return false }
    return unsafe line.withUnsafeBytes {
      unsafe pm_write(STDERR_FILENO, $0.baseAddress, $0.count) == $0.count
    }
  }
}
