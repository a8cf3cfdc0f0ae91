import CrashTestSupport
import IntermediateDump
import Testing

@testable import ProcessSnapshot

/// All tasks, in the form that the handler writes and in the form that a report keeps.
@Suite struct AllTasksTests {
  private static var tasks: AllTasks {
    var tasks = AllTasks(
      count: 5,
      groups: [
        TaskGroup(
          state: .awaitsTask, count: 3, cancelledCount: 1,
          frames: [SyntheticProcess.executable.value + 0x1000, 0x1234_5678_9ABC],
          records: [TaskRecord(id: 7, parent: 2, awaited: 9, flags: 0x0300_1500, status: 0x4115)]),
        TaskGroup(state: .running, count: 2),
      ])
    tasks.groups[0].records[0].name = "refresh – feed"
    tasks.groups[0].works = [TaskWork(task: 7, work: 1 << 62 | 3), TaskWork(task: 9, work: 4)]
    (tasks.timerCount, tasks.bytesSeen, tasks.bytesUnseen) = (4, 1 << 20, 1 << 30)
    return tasks
  }

  @Test func whatTheHandlerWritesIsReadAndWrittenAgain() throws {
    let bytes = try #require(
      IntermediateDumpEncoding.encode { writer in
        writer.header()
        writer.bytes(.allTasks, Self.tasks.bytes)
        _ = writer.endDocument()
      })
    let read = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes))
    #expect(read.allTasks == Self.tasks)
    let again = try #require(
      IntermediateDumpEncoding.encode { writer in
        writer.header()
        ProcessSnapshot.mapFields.write(read, to: &writer)
        _ = writer.endDocument()
      })
    let second = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: again))
    #expect(second.allTasks == Self.tasks)
  }

  @Test func whatIsCutOrDamagedIsReadAsFarAsItGoes() {
    let whole = Self.tasks.bytes
    for count in 0..<whole.count {
      let read = AllTasks(bytes: Array(whole.prefix(count)))
      #expect((read == nil) == (count < 40))
      #expect(read.map { $0.groups.count <= 2 && $0.count == 5 } ?? true)
      var damaged = whole
      damaged[count] ^= 0xFF
      _ = AllTasks(bytes: damaged)
    }
    #expect(AllTasks(bytes: whole + [1]) == Self.tasks)
  }

  @Test func aPrivateReportHasItsCodeOnly() {
    var snapshot = SyntheticProcess.snapshot()
    snapshot.allTasks = Self.tasks
    snapshot.sanitize()
    let frames = snapshot.allTasks?.groups.first?.frames
    #expect(frames?.first == Self.tasks.groups[0].frames[0])
    #expect(frames?.last != 0x1234_5678_9ABC)
    #expect(snapshot.allTasks?.count == 5)
    #expect(snapshot.allTasks?.groups.first?.records.map(\.name) == [nil])
  }
}
