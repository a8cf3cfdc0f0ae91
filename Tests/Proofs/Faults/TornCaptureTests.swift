import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

/// Which data the file contains at each moment, because the process may be killed, stopped or end itself in the
/// meantime.
@Suite struct TornCaptureTests {
  #if arch(x86_64)
    private static let (listing, signalling) = (217, 234)
  #else
    private static let (listing, signalling) = (61, 131)
  #endif

  private static func scene(_ kind: String, sleepers: Int = 16) -> Scene {
    Scene(kind: kind, sleepers: sleepers, more: ["--no-summary"])
  }

  /// The distance from the stack pointer to the end of the innermost frames, in bytes.
  private static func height(of count: Int, _ snapshot: ProcessSnapshot) throws -> UInt64 {
    let thread = try #require(snapshot.crashedThread)
    let walker = Stackwalker(snapshot: snapshot, symbols: SymbolSource())
    let frames = walker.frames(of: thread, limit: count)
    let bottom = try #require(thread.stackPointer)
    return try #require(frames.last?.stackPointer?.distance(above: bottom))
  }

  @Test(arguments: ["deep", "stack-overflow"], [listing, signalling])
  func aDumpKilledBeforeTheStopHoldsTheCrashingThreadWith64Frames(_ kind: String, _ call: Int)
    async throws
  {
    let scene = Self.scene(kind)
    let calm = try await InjectedRun(scene, .none)
    let run = try await InjectedRun(scene, .killFirst(.crashing, number: call))
    #expect(run.report.end.signal == 9)
    #expect(run.keptWhatWasWritten && run.writtenDumps == 1)
    let torn = try #require(run.reports.snapshots.first)
    #expect(torn.exception?.signal == 11)
    #expect(torn.process.crashTime != nil)
    let thread = try #require(torn.crashedThread)
    #expect(thread.captureMethod == .crashed && thread.context != nil)
    let whole = try #require(calm.reports.snapshots.first)
    let height = try Self.height(of: 65, whole)
    let top = try #require(thread.stackPointer?.adding(height))
    #expect(torn.memory.word(at: top &- 8) != nil, "\(height)")
    // Walks by frame pointers, without modules.
    let frames = Stackwalker(snapshot: torn, symbols: nil).frames(of: thread, limit: 64)
    #expect(frames.count == 64)
  }

  @Test func everyKindOfCrashHasItsRegistersAndItsStackByThen() async throws {
    for kind in ["abort", "fatal-error", "huge-frame", "null-call"] {
      let run = try await InjectedRun(
        Self.scene(kind), .killFirst(.crashing, number: Self.listing))
      let torn = try #require(run.reports.snapshots.first, "\(kind)")
      let thread = try #require(torn.crashedThread)
      #expect(thread.context != nil, "\(kind)")
      #expect(thread.stack.reduce(0) { $0 + $1.bytes.count } > 1024, "\(kind)")
    }
  }

  @Test(arguments: [4, 2])
  func stoppedForLongerThanTheHandlerHasTimeTheDumpIsWhole(_ part: Int) async throws {
    let scene = Self.scene("abort", sleepers: 3)
    let calm = try await InjectedRun(scene, .none)
    // The process stops in the middle of the capture, or earlier.
    let index = calm.report.count(.crashing) / part
    let run = try await InjectedRun(scene, .stop(.crashing, index, milliseconds: 3500))
    #expect(run.report.end.signal == 6)
    #expect(run.hasCompleteReport)
    let snapshot = try #require(run.reports.snapshots.first)
    #expect(snapshot.capture.sectionsAbandoned == 0)
    #expect(try #require(snapshot.capture.captureTime) > 3_400_000_000)
    #expect(!snapshot.modules.isEmpty && snapshot.threads.count > 3)
    #expect(snapshot.threads.allSatisfy { !$0.stack.isEmpty })
  }
}
