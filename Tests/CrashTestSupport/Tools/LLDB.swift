internal import Foundation

/// Runs LLDB on a minidump.
public enum LLDB {
  /// The maximum number of frames that a view has.
  public static let maximumFrames = 64

  /// Opens a minidump and returns what LLDB shows; LLDB finds modules by the paths in the dump.
  ///
  /// - Parameter directory: a directory for the script; the caller makes and removes it.
  public static func view(dump minidump: String, directory: String) async throws -> DebuggerView {
    try Door.requireProofs("LLDB")
    guard let lldb = OutsideTool.lldb.path else { throw OutsideToolError("no lldb-19 in PATH") }
    let path = directory + "/view.lldb"
    try script(minidump).write(toFile: path, atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      lldb, ["--no-lldbinit", "--batch", "-s", path], in: directory,
      environment: ["DEBUGINFOD_URLS": "", "LLVM_ENABLE_DEBUGINFOD": "0"])
    var view = parse(child.standardOutput)
    view.transcript = child.standardOutput + child.standardError
    guard child.end.exitCode == 0, view.crashedThread != nil else {
      throw OutsideToolError("lldb-19: \(child.end)\n\(view.transcript)")
    }
    return view
  }

  private static func script(_ minidump: String) -> String {
    let frame = #"@frame ${frame.index} ${frame.pc}{ ${function.mangled-name}}\n"#
    let thread = #"@thread ${thread.index} ${thread.id}\n"#
    return """
      settings set frame-format "\(frame)"
      settings set thread-format "\(thread)"
      target create --core "\(minidump)"
      thread list
      register read \(DebuggerView.registerNames.joined(separator: " "))
      thread backtrace --count \(maximumFrames)

      """
  }

  static func parse(_ output: String) -> DebuggerView {
    var view = DebuggerView()
    // Several threads may share a line; the selected one follows a star.
    for match in output.matches(of: /(\*?) *@thread [0-9]+ 0x([0-9a-f]+)/) {
      guard let id = UInt32(match.2, radix: 16) else { continue }
      view.threads.append(id)
      if match.1 == "*" { view.crashedThread = id }
    }
    for match in output.matches(of: /([a-z0-9]+) = (0x[0-9a-f]+)/) {
      view.registers[String(match.1)] = DebuggerView.number(match.2)
    }
    for match in output.matches(of: /@frame [0-9]+ (0x[0-9a-f]+) ?([^ \n]*)/) {
      guard let address = DebuggerView.number(match.1) else { continue }
      view.frames.append(
        .init(address: address, function: match.2.isEmpty ? nil : String(match.2)))
    }
    return view
  }
}
