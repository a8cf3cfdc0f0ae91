import CrashTestSupport
import Foundation
import Testing

/// The number of calls from the kernel's call of the handler to the first byte of the dump, in a release build.
@Suite(.needs(.gdb))
struct CrashDepthTests {
  /// The upper bound; Docs/Design.md names the steps that are inlined.
  private static let bound = 12

  private static let script = """
    set pagination off
    set print demangle off
    handle all nostop noprint pass
    break pm_handle_crash
    run
    catch syscall write
    continue
    python
    frame = gdb.newest_frame()
    while frame is not None and frame.type() != gdb.SIGTRAMP_FRAME:
        if frame.type() != gdb.INLINE_FRAME: print("@frame", frame.name())
        frame = frame.older()
    if frame is not None: print("@signal")
    end
    kill
    """

  @Test func atMost12FramesLieBetweenASignalAndTheFirstByteInTheFile() async throws {
    let crashLab = try await BuiltProducts.shared.executable("crash-lab", .release)
    let directory = try TemporaryDirectory()
    try Self.script.write(toFile: directory.path + "/script", atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      try #require(OutsideTool.gdb.path),
      [
        "-batch", "-nx", "-x", "script", "--args", crashLab, "null-read", "--on", "main",
        "--threads", "2", "--no-summary", "--database", directory.path + "/database",
      ],
      in: directory.path, environment: ["DEBUGINFOD_URLS": ""])
    let lines = child.standardOutput.split(separator: "\n")
    let frames = lines.filter { $0.hasPrefix("@frame ") }.map { $0.dropFirst(7) }
    print("frames from the first byte to the signal: \(frames.joined(separator: ", "))")
    try #require(lines.contains("@signal"), "\(child.standardOutput)\(child.standardError)")
    // The bytes are the dump's first ones, not those of another file.
    #expect(frames.contains("pm_write_dump") && frames.last == "pm_run_crash_entry")
    #expect(frames.count <= Self.bound)
  }
}
