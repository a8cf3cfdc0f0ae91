import CrashTestSupport
import Testing

/// The number of threads that a program can create under memory limits, with the handler and without.
@Suite struct ThreadLimitTests {
  private struct Made {
    var threads = 0
    var arenas = 0
    /// The number of threads without an alternate stack, as the status counts them.
    var without = 0

    init(_ limit: String, _ kibibytes: Int, handled: Bool) async throws {
      let directory = try TemporaryDirectory()
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("crash-lab"),
        ["threads-made", limit, "\(kibibytes)"]
          + (handled ? ["--database", directory.path + "/database"] : ["--no-handler"]),
        in: directory.path)
      try #require(child.end.exitCode == 0, "\(child)")
      for line in child.standardOutput.split(separator: "\n") {
        let words = line.split(separator: " ")
        guard words.count > 1, let number = Int(words[1]) else { continue }
        switch words[0] {
        case "threads": threads = number
        case "arenas": arenas = number
        case "status": without = number
        default: break
        }
      }
    }
  }

  @Test func noArenaOfMallocIsMadeForThreadsThatAllocateNothing() async throws {
    let alone = try await Made("none", 256, handled: false)
    let handled = try await Made("none", 256, handled: true)
    #expect(alone.threads == 100 && handled.threads == 100)
    #expect(handled.arenas == alone.arenas)
    #expect(handled.without == 0)
  }

  /// The program can create as many threads as without the handler, within a tenth.
  ///
  /// A thread with a small stack gets no alternate stack if that would use too much memory.
  @Test(arguments: [
    ("address-space", 1024), ("address-space", 512), ("address-space", 256),
    ("data", 1024), ("data", 256), ("data", 64),
    ("locked-memory", 1024), ("locked-memory", 128), ("locked-memory", 16),
  ])
  func nineTenthsOfTheThreadsCanBeMadeAndTheStatusCountsThoseWithoutAStack(
    limit: String, kibibytes: Int
  ) async throws {
    let alone = try await Made(limit, kibibytes, handled: false)
    let handled = try await Made(limit, kibibytes, handled: true)
    #expect(alone.threads > 5)
    #expect(Double(handled.threads) >= 0.9 * Double(alone.threads) - 1, "\(handled) \(alone)")
    // The last thread that can be made may leave no memory for an alternate stack.
    if kibibytes == 1024 { #expect(handled.without <= 1) }
    if limit != "locked-memory", kibibytes <= 256 { #expect(handled.without > 0) }
  }
}
