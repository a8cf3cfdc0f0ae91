import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashReport

/// The section on all tasks.
@Suite struct TaskOverviewTests {
  static func overview(frames: [StackFrame]) -> TaskOverview {
    var found = AllTasks(
      count: 2140,
      groups: [
        TaskGroup(
          state: .awaitsContinuation, count: 2113, cancelledCount: 4, frames: [0x40_0000],
          records: [TaskRecord(id: 17, parent: 3, awaited: 0, flags: 0x0200_1500, status: 0x4115)]),
        TaskGroup(state: .awaitsTask, count: 1, records: [TaskRecord(id: 3, awaited: 17)]),
        TaskGroup(state: .running, count: 2, records: [TaskRecord(id: 1), TaskRecord(id: 2)]),
      ])
    found.timerCount = 9
    (found.bytesSeen, found.bytesUnseen) = (3 << 20, 0)
    return TaskOverview(
      found,
      groups: found.groups.map {
        TaskOverview.Group(found: $0, frames: $0.state == .running ? [] : frames)
      })
  }

  private static let frames = [
    StackFrame(
      "(1) await resume partial function for App.Pool.lease() async -> ()", address: 0x40_0000,
      inlined: false, line: SourceLocation(file: "/src/Pool.swift", line: 44)),
    StackFrame(
      "(2) await resume partial function for App.Handler.respond() async -> ()",
      address: 0x40_0010, inlined: false,
      line: SourceLocation(file: "/src/Handler.swift", line: 7)),
  ]

  private func report(_ change: (inout AllTasks) -> Void = { _ in }) -> CrashReport {
    var report = SampleReport.report(word: "app")
    let overview = Self.overview(frames: Self.frames)
    var found = overview.found
    change(&found)
    report.allTasks = TaskOverview(found, groups: overview.groups)
    return report
  }

  @Test func groupsWithCountsPlacesAndOldestTasks() throws {
    let text = TextReport.text(of: report())
    let all = text.split(separator: "\n")
    let start = try #require(all.firstIndex(of: "All tasks (2140):"))
    let lines = all[(start + 1)...].prefix(5)
    #expect(
      lines == [
        "  2113 tasks wait for a continuation in App.Pool.lease() at Pool.swift:44, called by "
          + "App.Handler.respond() at Handler.swift:7 (oldest: task 17, 4 canceled)",
        "  2 tasks run on threads (oldest: task 1)",
        "  1 task waits for task 17 in App.Pool.lease() at Pool.swift:44, called by "
          + "App.Handler.respond() at Handler.swift:7 (task 3)",
        "  24 more tasks in other places",
        "  Found in 3 MiB of memory; without 9 timers of Task.sleep.",
      ], "\(lines)")
  }

  @Test func memoryThatWasNotSearchedIsTold() {
    let text = TextReport.text(of: report { $0.bytesUnseen = 2 << 30 })
    #expect(
      text.contains(
        "of Task.sleep; 2 GiB were not searched, so tasks may be missing.\n"), "\(text)")
    #expect(HTMLReport.text(of: report()).contains("All tasks (2140)"))
    var none = report()
    none.allTasks = nil
    #expect(!TextReport.text(of: none).contains("All tasks"))
    #expect(none.json().contains("\"allTasks\":null"))
    #expect(!TextReport.text(of: report { $0.count = 0 }).contains("All tasks"))
  }
}
