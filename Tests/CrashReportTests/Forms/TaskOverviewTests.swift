import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The report's section on all tasks.
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

  /// Tasks that wait for other tasks explain nothing without these.
  @Test func theHeadFollowsTheTasksThatAreAwaited() {
    var report = SampleReport.report(word: "app")
    func sentences(_ groups: [TaskGroup]) -> [String] {
      let found = AllTasks(count: 3, groups: groups)
      report.allTasks = TaskOverview(
        found, groups: groups.map { TaskOverview.Group(found: $0, frames: []) })
      return report.taskSentences
    }
    let child = TaskGroup(
      state: .awaitsContinuation, count: 1, records: [TaskRecord(id: 17, parent: 3)])
    let stuck = "1 task waits for a continuation (task 17)."
    let following = TaskGroup(
      state: .awaitsTask, count: 2, records: [TaskRecord(id: 3, awaited: 17)])
    #expect(
      sentences([following, child]) == ["2 tasks wait for task 17 (oldest: task 3).", stuck])
    let grouping = TaskGroup(state: .awaitsGroup, count: 2, records: [TaskRecord(id: 3)])
    #expect(
      sentences([grouping, child]) == ["2 tasks wait for a task group (oldest: task 3).", stuck])
    #expect(sentences([child]) == [stuck])
  }

  @Test func namesOfTasksAndTheThreadsThatRunThem() throws {
    var snapshot = SampleReport.report(word: "app").snapshot
    let thread = try #require(snapshot.threads.first).id
    // The object of task 2, of which only the flags are needed.
    var object = [UInt8](repeating: 0, count: 0x100)
    object[Int(TaskLayout.flags) + 1] = 0x15
    object[Int(TaskLayout.flags) + 4] = 2
    snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x5000_0000, bytes: object)])
    snapshot.tasks = [
      TaskSnapshot(threadID: thread, address: 0x5000_0000, layoutVersion: TaskLayout.version)
    ]
    var report = CrashReport(snapshot: snapshot, symbolicating: false)
    var (waiting, running) = (TaskRecord(id: 17), TaskRecord(id: 2))
    (waiting.name, running.name) = ("refresh", "render")
    let found = AllTasks(
      count: 3,
      groups: [
        TaskGroup(state: .awaitsContinuation, count: 1, records: [waiting]),
        TaskGroup(state: .running, count: 2, records: [TaskRecord(id: 1), running]),
      ])
    report.allTasks = TaskOverview(found, groups: found.groups.map { .init(found: $0, frames: []) })
    let json = try #require(
      JSONSerialization.jsonObject(with: Data(report.json().utf8)) as? [String: Any])
    let groups = try #require(
      (json["allTasks"] as? [String: Any])?["groups"] as? [[String: Any]])
    let tasks = groups.flatMap { $0["oldest"] as? [[String: Any]] ?? [] }
    #expect(tasks.map { $0["name"] as? String } == ["refresh", nil, "render"])
    #expect(tasks.map { $0["threadID"] as? UInt32 } == [nil, nil, thread])
    let text = TextReport.text(of: report)
    #expect(text.contains("continuation (task 17 \"refresh\")\n"), "\(text)")
    #expect(text.contains("run on threads (oldest: task 1, thread \(thread))\n"), "\(text)")
    #expect(try SchemaTests.schema().errors(in: report.json()) == [])
  }

  /// A runtime whose tasks cannot be read: the version is in the dump, or only in the tasks that threads ran.
  @Test(arguments: [false, true]) func anUnknownLayoutOfTasksIsSaid(isOfThread: Bool) throws {
    var snapshot = SampleReport.report(word: "app").snapshot
    snapshot.allTasks = nil
    if isOfThread {
      snapshot.tasks = [TaskSnapshot(threadID: 1, address: 0x1000, layoutVersion: 9)]
    } else {
      snapshot.unknownTaskLayout = 9
    }
    func version(_ kind: DumpRequest.Kind?) throws -> Int? {
      snapshot.request = kind.map { kind in
        var request = DumpRequest()
        request.kind = kind
        return request
      }
      let report = CrashReport(snapshot: snapshot, symbolicating: false)
      #expect(try SchemaTests.schema().errors(in: report.json()) == [])
      let object = try JSONSerialization.jsonObject(with: Data(report.json().utf8))
      let version = (object as? [String: Any])?["unknownTaskLayout"] as? Int
      #expect(TextReport.text(of: report).contains("(version 9)") == (version != nil))
      return version
    }
    #expect(try version(.program) == 9)
    // A crash's report lists no tasks anyway.
    #expect(try version(nil) == nil)
  }

  @Test func groupsShowTheContextsOfSome() throws {
    var report = SampleReport.report(word: "app")
    report.snapshot.process.crashUptime = 60_000_000_000
    var entries: [OpenContextTable.Entry] = []
    for work in 1...9 as ClosedRange<UInt64> {
      entries.append(
        .init(
          at: work * 1_000_000_000, work: work, isNested: false, [(name: "id", value: "\(work)")]))
    }
    report.snapshot.client.openContextTable = OpenContextTable(entries, omitted: (0, 0)).bytes
    var group = TaskGroup(state: .awaitsContinuation, count: 8, records: [TaskRecord(id: 17)])
    // The unit of work 99 is not in the table.
    group.works = [(17, 99), (18, 5), (19, 2), (21, 3), (22, 4)].map {
      TaskWork(task: $0.0, work: $0.1)
    }
    report.snapshot.allTasks = AllTasks(count: 8, groups: [group])
    report = CrashReport(snapshot: report.snapshot, symbolicating: false)
    let text = TextReport.text(of: report)
    #expect(
      text.contains(
        """
          8 tasks wait for a continuation (oldest: task 17)
            task 18, in flight 55 s: id=5
            task 19, in flight 58 s: id=2
            task 21, in flight 57 s: id=3
          Found in
        """), "\(text)")
    #expect(HTMLReport.text(of: report).contains("task 19, in flight 58 s: id=2"))
    #expect(
      report.json().contains(
        #""contexts":[{"ageNanoseconds":55000000000,"task":18,"values":[{"cut":false,"name":"id","#)
    )
    #expect(try SchemaTests.schema().errors(in: report.json()) == [])
  }

  /// Three tasks in two places that wait for each other, and one that waits for them while nothing waits for it.
  private func cycle(_ kind: DumpRequest.Kind?, isOpen: Bool = false) -> CrashReport {
    var snapshot = SampleReport.report(word: "app").snapshot
    snapshot.request = kind.map { kind in
      var request = DumpRequest()
      request.kind = kind
      return request
    }
    snapshot.allTasks = AllTasks(
      count: 4,
      groups: [
        TaskGroup(
          state: .awaitsTask, count: 3,
          records: [
            TaskRecord(id: 5, awaited: 9), TaskRecord(id: 7, awaited: isOpen ? 2 : 5),
            TaskRecord(id: 8, awaited: 5),
          ]),
        TaskGroup(state: .awaitsGroup, count: 1, records: [TaskRecord(id: 9, awaited: 7)]),
      ])
    return CrashReport(snapshot: snapshot, symbolicating: false)
  }

  @Test(arguments: [DumpRequest.Kind.tool, .program, .coreFile])
  func aCycleOfTasksIsADeadlock(kind: DumpRequest.Kind) throws {
    let report = cycle(kind)
    #expect(report.cause?.kind == "deadlock" && report.cause?.certainty == .likely)
    #expect(
      report.explanation?.hasSuffix(
        """
        Deadlock: 3 tasks wait for each other. This is likely: a group may have more tasks than the search has \
        found. Task 5 waits for task 9. Task 9 waits for its task group, whose only task is task 7. Task 7 \
        waits for task 5.
        """) == true, "\(report.explanation ?? "")")
    #expect(TextReport.text(of: report).contains("Task 7 waits for task 5."))
    #expect(HTMLReport.text(of: report).contains("Deadlock: 3 tasks wait for each other."))
    #expect(
      report.json().contains(
        #""deadlocks":[{"certain":false,"tasks":[{"awaits":9,"group":false,"id":5,"#))
    #expect(try SchemaTests.schema().errors(in: report.json()) == [])
    #expect(Verdict(of: report.snapshot).kind == "deadlock")
    let open = cycle(kind, isOpen: true)
    #expect(open.cause == nil && open.json().contains(#""deadlocks":[]"#))
    #expect(Verdict(of: open.snapshot).kind == nil)
  }

  /// The functions of these tasks have no names.
  @Test(arguments: [DumpRequest.Kind.tool, .program, .coreFile])
  func thePlaceOfADumpOnRequestIsThatOfTheCycle(kind: DumpRequest.Kind) throws {
    var snapshot = cycle(kind).snapshot
    snapshot.allTasks?.groups[0].frames = [0x40_0800]
    snapshot.allTasks?.groups[1].frames = [0x40_0700]
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    let place = try #require(report.taskDeadlocks.first?.waits.first?.place)
    #expect(place.hasPrefix("app+0x7") || place.hasPrefix("app+0x6"), "\(place)")
    #expect(report.place == place && Verdict(of: snapshot).place == place)
    let lines = TextReport.text(of: report).split(separator: "\n")
    #expect(lines.dropFirst().first == "in \(place)", "\(lines.prefix(3))")
  }

  @Test func aHangWithoutAPlaceHasThatOfTheCycle() throws {
    var snapshot = cycle(.hang).snapshot
    let found = try #require(snapshot.allTasks)
    let overview = TaskOverview(
      found, groups: found.groups.map { TaskOverview.Group(found: $0, frames: Self.frames) })
    let ownCode = OwnCode(of: snapshot, frames: Self.frames)
    let deadlocks = overview.deadlocks(ownCode)
    var request = try #require(snapshot.request)
    let hidden = HangSubject(request, first: nil, [], ownCode)
    let tasks = try #require(deadlocks.cause(of: snapshot, hidden, Waits()))
    #expect(
      tasks.waits.map(\.place)
        == [String?](repeating: "App.Pool.lease() at Pool.swift:44", count: 3))
    let signature = Signature.text(
      of: snapshot, trace: StackTrace(), tasks.finding, hang: hidden, from: .task(tasks.waits[0]),
      ownCode: ownCode)
    #expect(signature == "hang | deadlock | App.Pool.lease() < App.Handler.respond()")
    // A thread that uses the processor is not waiting for tasks.
    request.threadEvidence = .known
    (request.hangTime, request.processorTime) = (1_000_000_000, 10_000_000)
    snapshot.request = request
    let known = HangSubject(
      request, first: 7, [HangSubject.Candidate(id: 7, name: nil, frames: Self.frames)], ownCode)
    #expect(known.hasPlace && deadlocks.cause(of: snapshot, known, Waits()) != nil)
    snapshot.request?.processorTime = 900_000_000
    #expect(deadlocks.cause(of: snapshot, known, Waits()) == nil)
  }

  /// A crash has its own cause, and the cycle is shown with the tasks.
  @Test func aCrashHasItsOwnCause() {
    let report = cycle(nil)
    #expect(report.cause?.kind != "deadlock" && report.taskDeadlocks.count == 1)
    #expect(report.explanation?.contains("Deadlock") != true)
    #expect(TextReport.text(of: report).contains("\n  Deadlock: 3 tasks wait for each other. "))
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
