import CrashTestSupport
import Foundation
import Testing

@testable import PostmortemTool

/// `show -`, which reads no more than it needs.
@Suite struct StandardInputTests {
  private let directory: SharedDirectory

  init() throws {
    directory = try SharedDirectory()
  }

  /// Runs `show -`, writes pieces into its standard input until it ends or there are no more, and measures.
  ///
  /// Its arguments are the first bytes, and the number of MiB of zeros that follow.
  private static let feed = """
    import os, resource, signal, subprocess, sys
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    child = subprocess.Popen([sys.argv[1], 'show', '-'], stdin=subprocess.PIPE)
    written = 0
    try:
        written += os.write(child.stdin.fileno(), bytes.fromhex(sys.argv[2]))
        for _ in range(int(sys.argv[3]) << 4):
            piece = memoryview(bytes(1 << 16))
            while piece:
                count = os.write(child.stdin.fileno(), piece)
                written += count
                piece = piece[count:]
    except BrokenPipeError:
        pass
    try:
        child.stdin.close()
    except BrokenPipeError:
        pass
    print(child.wait(), written, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
    """

  private func feed(
    _ start: [UInt8], mebibytes: Int
  ) async throws -> (errors: String, status: Int, written: Int, memory: Int) {
    let python = try #require(OutsideTool.python3.path)
    let hexadecimal = start.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let child = try await ChildProcess.run(
      python,
      [
        "-c", Self.feed, try BuiltProducts.besideTests("postmortem"), hexadecimal, "\(mebibytes)",
      ], in: directory.path, environment: ["TMPDIR": directory.path])
    let numbers = child.standardOutput.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    try #require(numbers.count == 3, "\(child)")
    return (child.standardError, numbers[0], numbers[1], numbers[2])
  }

  @Test(.needs(.python3)) func whatIsNoDumpIsRefusedByItsFirstBytes() async throws {
    let fed = try await feed([], mebibytes: 3 << 10)
    #expect(fed.status == 1)
    #expect(
      fed.errors
        == "postmortem: standard input: neither an intermediate dump nor a minidump nor a core file (byte 0)\n"
    )
    // What the pipe and one piece hold.
    #expect(fed.written <= 1 << 20, "\(fed)")
  }

  /// Its bytes are in a temporary file, and not in memory.
  @Test(.needs(.python3)) func aLargeDumpTakesLittleMemory() async throws {
    let fed = try await feed(Array("MDMP".utf8), mebibytes: 400)
    #expect(fed.status == 1 && fed.errors.hasPrefix("postmortem: standard input: "), "\(fed)")
    #expect(fed.written == 400 << 20 + 4 && fed.memory < 200 << 20, "\(fed)")
    #expect(directory.names() == [])
  }

  @Test func aRegularFileThatIsTooLargeIsNotRead() async throws {
    let file = unsafe open(directory.path + "/large", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(file) }
    try #require(unsafe write(file, "MDMP", 4) == 4 && ftruncate(file, 3 << 30) == 0)
    let tool = try BuiltProducts.besideTests("postmortem")
    let child = try await ChildProcess.run(
      "/bin/sh", ["-c", "exec $0 show - <large", tool], in: directory.path)
    #expect(child.end.exitCode == 1)
    #expect(
      child.standardError
        == "postmortem: standard input: larger than 1024 MiB, which no dump is\n")
  }
}
