internal import FoundationEssentials
internal import Glibc

/// Shows text on a terminal page by page.
enum Pager {
  /// Prints text; on a terminal, through the program that PAGER names or, without PAGER, through less.
  ///
  /// The text is printed without a pager if PAGER is empty, if the terminal cannot move its cursor, or if the pager
  /// cannot be started.
  ///
  /// Source: POSIX.1-2024, man, "PAGER"; less(1), LESS; systemctl(1), SYSTEMD_PAGER.
  static func show(_ text: String) throws(ToolError) {
    if Terminal.isOutput, let words, let end = run(words, text) {
      // The shell exits with one of these statuses if it cannot start the pager.
      guard let status = end.exitStatus else { end.repeatForThisProcess() }
      if status != 126, status != 127 { return }
    }
    try StandardOutput.print(text)
  }

  /// The command line of the pager; nil for no pager.
  private static var words: [String]? {
    let environment = ProcessInfo.processInfo.environment
    guard !["", "dumb"].contains(environment["TERM"] ?? "") else { return nil }
    guard let pager = environment["PAGER"] else { return ["less"] }
    return pager.isEmpty ? nil : ["/bin/sh", "-c", pager]
  }

  /// Runs a pager, as a job that the terminal's user controls together with this command.
  ///
  /// - Returns: nil if the pager could not be started.
  private static func run(_ words: [String], _ text: String) -> WaitStatus? {
    // The terminal sends the signals of Ctrl-C and Ctrl-\ to this command, too, which leaves them to the pager. SIGPIPE
    // is ignored because the pager may end before it has read everything.
    let signals = [SIGINT, SIGQUIT, SIGPIPE]
    let actions = signals.map { signal($0, SIG_IGN) }
    defer { for (number, action) in zip(signals, actions) { signal(number, action) } }
    guard let pipe = try? SpawnedProcess.pipe() else { return nil }
    // With these options, less quits if the text fits on one screen, and passes colors on to the terminal.
    let variables = unsafe getenv("LESS") == nil ? ["LESS": "FRX"] : [:]
    let pager: SpawnedProcess
    do {
      defer { close(pipe.reading) }
      pager = try SpawnedProcess(
        words, setting: variables, input: .descriptor(pipe.reading), resetting: signals)
    } catch {
      close(pipe.writing)
      return nil
    }
    try? Output.write(Array(text.utf8)[...], to: pipe.writing, named: words[0])
    close(pipe.writing)
    return pager.wait()
  }
}
