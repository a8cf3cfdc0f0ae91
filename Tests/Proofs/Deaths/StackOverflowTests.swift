import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import ProcessSnapshot
import Testing

/// Stack overflows on every kind of thread: the process ends as without the handler, and the report has the cause
/// and both ends of the stack.
@Suite struct StackOverflowTests {
  static let kinds = KnownCrash.all.filter(\.overflowsStack).map(\.kind)
  /// The system's default stack, and a small one, which only pthreads can have.
  static let stackOptions = [[], ["--stack", "65536"]]

  @Test(
    arguments: CrashPlace.allCases,
    BuildConfiguration.dynamic)
  func oneReportClassifiedWithTopAndBottom(_ place: CrashPlace, _ configuration: BuildConfiguration)
    async throws
  {
    let hasOptions = [.pthread, .earlierThread].contains(place)
    for kind in Self.kinds {
      for options in hasOptions ? Self.stackOptions : [[]] {
        try await check(kind, place, options, try await Victim(configuration))
      }
    }
  }

  @Test(
    arguments: CrashPlace.allCases,
    [BuildConfiguration.staticDebug, .staticRelease])
  func withSwiftsLibrariesInside(_ place: CrashPlace, _ configuration: BuildConfiguration)
    async throws
  {
    try await check("stack-overflow", place, [], try await Victim(configuration))
  }

  /// The backtracer's handler runs on the same alternate stack, after ours, and only if it would have run without
  /// ours.
  @Test(arguments: CrashPlace.allCases, kinds)
  func withSwiftsBacktracer(_ place: CrashPlace, _ kind: String) async throws {
    try await check(kind, place, [], try await Victim(.asTested), backtracer: true)
  }

  private func check(
    _ kind: String, _ place: CrashPlace, _ options: [String], _ victim: Victim,
    backtracer: Bool = false
  ) async throws {
    let scene: Comment = "\(kind) on \(place.rawValue) \(options)"
    let alone = try await victim.dieAlone(
      kind, on: place, options: options, backtracer: backtracer)
    let handled = try await victim.die(kind, on: place, options: options, backtracer: backtracer)
    #expect(alone.end.signal == 11, scene)
    #expect(handled.end == alone.end, scene)
    let isBacktraced = handled.standardError.contains("Program crashed: ")
    #expect(isBacktraced == alone.standardError.contains("Program crashed: "), scene)
    #expect(isBacktraced == (backtracer && place == .main), scene)
    let lines = try await victim.process()
    #expect(lines.count == 1 && lines.first?.tellsAWholeDump == true, "\(scene) \(lines)")
    let stored = try #require(try victim.reports().first, scene)
    let snapshot = try Victim.snapshot(of: stored)
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    #expect(report.explanation?.hasPrefix("Stack overflow") == true, scene)

    let thread = try #require(snapshot.crashedThread, scene)
    let range = try #require(thread.stackRange, scene)
    let pointer = try #require(thread.stackPointer, scene)
    let first = try #require(thread.stack.first, scene)
    let last = try #require(thread.stack.last, scene)
    // The dump starts where the thread crashed: in the red zone below the pointer, or at the start of the stack
    // above it.
    #expect(first.address <= max(pointer, range.start), scene)
    #expect(first.address >= max(pointer, range.start &+ 128) &- 128, scene)
    if place == .main {
      // The dump leaves out the arguments and the environment, at the very end of the stack.
      #expect(snapshot.mapping(containing: first.address)?.path == "[stack]", scene)
      let end = range.clampedEnd.distance(above: last.range.clampedEnd)
      #expect(try #require(end) < 256 << 10, scene)
    } else {
      // libc keeps the thread control block at the end of the thread's stack.
      #expect(range.contains(try #require(thread.threadPointer)), scene)
      #expect(last.range.end == range.end, scene)
    }
  }
}
