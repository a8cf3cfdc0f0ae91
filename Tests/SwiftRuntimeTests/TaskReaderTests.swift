import Foundation
import IntermediateDump
import Testing

@testable import SwiftRuntime

/// Tasks in the layout of Swift 6.3, and memory that only resembles it.
@Suite struct TaskReaderTests {
  private static let status: UInt64 = 0x4015

  /// One task of each state.
  private static var memory: TaskWords {
    var memory = TaskWords()
    memory.addTask(1, at: 0x1_0000, status: status, subject: (0x1_0200, 2))
    memory.addTask(2, at: 0x1_1000, status: status, subject: (0x1_0000, 1))
    memory.addTask(3, at: 0x1_2000, status: status | 0x100, subject: (0x1_2100, 3))
    memory.words[0x1_2100] = 0
    memory.addTask(4, at: 0x1_3000, status: 0x5015, subject: (0, 4))
    memory.addTask(5, at: 0x1_4000, status: 0x5015, subject: (0x5_0000, 4), parent: 0x1_2000)
    memory.addTask(6, at: 0x1_5000, status: 0x815)
    memory.addTask(7, at: 0x1_6000, status: 0x15)
    // A task that waits for a timer of Task.sleep.
    memory.addTask(8, at: 0x1_7000, status: 0x15, code: 0x40_0F00)
    // A task that has ended.
    memory.addTask(9, at: 0x1_8000, status: 0x2015)
    return memory
  }

  private static let known: Set<UInt64> = [
    0x1_0000, 0x1_1000, 0x1_2000, 0x1_3000, 0x1_4000, 0x1_5000, 0x1_6000, 0x1_7000,
  ]

  private func tasks(in memory: TaskWords) -> [FoundTask] {
    let reader = TaskReader(TaskWords.runtime, memory)
    return memory.words.keys.sorted().compactMap(reader.task)
  }

  @Test func aTaskOfEachState() {
    let tasks = tasks(in: Self.memory)
    #expect(tasks.map(\.id) == Array(1...8))
    #expect(
      tasks.map(\.state) == [
        .awaitsContinuation, .awaitsTask, .awaitsGroup, .ready, .awaitsActor, .running, .suspended,
        .suspended,
      ])
    #expect(tasks[0].frames == [0x40_0100, 0x40_0200, 0x40_0400])
    #expect(tasks[1].awaited == 0x1_0000 && tasks[4].parent == 0x1_2000)
    #expect(tasks[5].frames.isEmpty)
    #expect(tasks[7].isAtStart && tasks[7].frames == [0x40_0300, 0x40_0200, 0x40_0400])
  }

  /// The runtime's record of the name follows the record of what the task waits for.
  @Test(arguments: ["refresh feed", "1234567", "", String(repeating: "n", count: 80)])
  func aTaskHasItsName(_ name: String) {
    var memory = TaskWords()
    memory.addTask(1, at: 0x1_0000, status: Self.status, subject: (0x1_0200, 2))
    memory.words[0x1_0308] = 0x1_0400
    memory.add([6, 0, 0x1_0503], at: 0x1_0400)
    let bytes = [1, 2, 3] + Array(name.utf8) + [0, 9]
    for (index, byte) in bytes.enumerated() {
      let place = 0x1_0500 + UInt64(index & ~7)
      memory.words[place, default: 0] |= UInt64(byte) << UInt64(8 * (index & 7))
    }
    #expect(tasks(in: memory).map(\.name) == [name.isEmpty ? nil : String(name.prefix(64))])
  }

  @Test func equalChainsAreAGroupWithItsOldestTasks() throws {
    var found = TaskCollection()
    for task in tasks(in: Self.memory) { found.add(task) }
    for id in (20..<30).reversed() as ReversedCollection<Range<UInt64>> {
      var memory = TaskWords()
      memory.addTask(id, at: id << 16, status: Self.status, subject: (id << 16, 2))
      for task in tasks(in: memory) { found.add(task) }
      // Adding an ID again changes nothing.
      for task in tasks(in: memory) { found.add(task) }
    }
    let all = found.grouped(limit: 3, recordLimit: 4)
    #expect(all.count == 17 && all.timerCount == 1 && all.groups.count == 3)
    let first = try #require(all.groups.first)
    #expect(first.count == 11 && first.state == .awaitsContinuation)
    #expect(first.records.map(\.id) == [1, 20, 21, 22])
    #expect(all.groups[1].records.map(\.awaited) == [1])
    #expect(all.groups[2].cancelledCount == 1 && all.groups[2].records[0].isCancelled)
    #expect(AllTasks(bytes: all.bytes) == all)
  }

  /// Tasks that wait for each other in a cycle: each for the next one, the last one for the first one.
  private static func cycle(of ids: [UInt64]) -> TaskCollection {
    var found = TaskCollection()
    for (index, id) in ids.enumerated() {
      found.add(waiting(id, for: ids[(index + 1) % ids.count]))
    }
    return found
  }

  private static func waiting(_ id: UInt64, for awaited: UInt64) -> FoundTask {
    FoundTask(
      address: id << 16, id: id, flags: 0, status: 0, state: .awaitsTask, parent: 0,
      awaited: awaited << 16, frames: [0x40_0100])
  }

  @Test func cyclesAreFoundInWhatIsKept() {
    var found = Self.cycle(of: [40, 20, 30])
    for id in 1...10 as ClosedRange<UInt64> { found.add(Self.waiting(id, for: id + 1)) }
    for id in 100...110 as ClosedRange<UInt64> {
      var task = Self.waiting(id, for: 20)
      task.frames = [0x40_0200 + id]
      found.add(task)
    }
    found.add(Self.waiting(50, for: 50))
    // One record of each group and those of cycles are kept. With a limit of one group, all except the largest
    // are left out.
    for (groups, records) in [(512, 256), (1, 1), (4, 1)] {
      let all = found.grouped(limit: groups, recordLimit: records)
      #expect(all.cycles == [[20, 30, 40], [50]], "\(all.cycles)")
      #expect(all.groups.count == min(groups, 12) && all.groups[0].oldest == 1)
      #expect(AllTasks(bytes: all.bytes)?.cycles == all.cycles)
    }
    // Groups in cycles come before larger ones.
    var others = TaskCollection()
    for id in 1...10 as ClosedRange<UInt64> { others.add(Self.waiting(id, for: 0)) }
    for id in [60, 61] as [UInt64] {
      var task = Self.waiting(id, for: id ^ 1)
      task.frames = []
      others.add(task)
    }
    #expect(others.grouped(limit: 1, recordLimit: 1).cycles == [[60, 61]])
    #expect(others.grouped(limit: 2, recordLimit: 1).groups(atMost: 1).map(\.count) == [2])
  }

  @Test func aCycleThatChangesIsNone() {
    let whole = Self.cycle(of: [20, 30, 40])
    let tasks = Dictionary(uniqueKeysWithValues: whole.tasks.map { ($0.address, $0) })
    func cycles(_ change: (inout [UInt64: FoundTask]) -> Void) -> [[UInt64]] {
      var (found, now) = (whole, tasks)
      change(&now)
      found.confirmCycles { now[$0] }
      return found.grouped(limit: 8, recordLimit: 8).cycles
    }
    #expect(cycles { _ in } == [[20, 30, 40]])
    #expect(cycles { $0[30 << 16] = nil } == [])
    #expect(cycles { $0[30 << 16]?.id = 31 } == [])
    #expect(cycles { $0[40 << 16]?.awaited = 30 << 16 } == [])
    #expect(cycles { $0[40 << 16]?.awaited = 0 } == [])
  }

  @Test func aGroupWithOneTaskIsAwaitedInItsTask() throws {
    func cycles(children: Int, bytesUnseen: UInt64 = 0) -> [[UInt64]] {
      var memory = TaskWords()
      memory.addTask(1, at: 0x1_0000, status: Self.status, subject: (0x1_0100, 3))
      memory.words[0x1_0100] = 0
      for index in 0..<UInt64(children) {
        let address = 0x1_1000 + index * 0x1000
        memory.addTask(
          2 + index, at: address, status: Self.status, subject: (0x1_0000, 1), parent: 0x1_0000)
        memory.words[address + 0xE0] = 0x1_0100
      }
      var found = TaskCollection()
      for task in tasks(in: memory) { found.add(task) }
      #expect(found.count == children + 1)
      found.bytesUnseen = bytesUnseen
      return found.grouped(limit: 8, recordLimit: 8).cycles
    }
    #expect(cycles(children: 1) == [[1, 2]])
    #expect(cycles(children: 2) == [])
    #expect(cycles(children: 1, bytesUnseen: 1) == [])
  }

  /// The items of a list of task-local values: a value of another key, the end of the task's own values, and a
  /// context.
  @Test func aTaskBelongsToTheWorkOfItsContext() {
    var runtime = TaskWords.runtime
    runtime.contexts = TaskRuntime.ContextPlace(key: 0x5_0000, type: 0x5_1000, head: 0x88)
    var memory = Self.memory
    memory.words[0x1_0088] = 0x6_0000
    memory.add([0x6_0100, 0x5_0008, 0x5_1000, 1, 2], at: 0x6_0000)
    memory.add([0x6_0200 | 4], at: 0x6_0100)
    memory.add([0, 0x5_0000, 0x5_1000, 0x1234, 77], at: 0x6_0200)
    func work() -> UInt64? { TaskReader(runtime, memory).task(at: 0x1_0000)?.work }
    #expect(work() == 77)
    memory.words[0x6_0210] = 0x5_1008
    #expect(work() == 0)
    memory.words[0x6_0210] = 0x5_1000
    // The end of the list, and a list without a valid end.
    memory.words[0x6_0100] = 0x6_0200 | 6
    #expect(work() == 0)
    memory.words[0x6_0100] = 0x6_0000
    #expect(work() == 0)
    #expect(TaskRuntime.ContextPlace(key: 1, type: 1, head: 1) == nil)
  }

  @Test func ofEachWorkTheOldestTaskIsKept() {
    var found = TaskCollection()
    for id in (1...30 as ClosedRange<UInt64>).reversed() {
      var task = Self.waiting(id, for: 0)
      task.work = id <= 4 ? 0 : id / 2
      found.add(task)
    }
    let all = found.grouped(limit: 8, recordLimit: 2)
    #expect(all.groups[0].works.map(\.task) == [5, 6, 8, 10, 12, 14, 16, 18])
    #expect(all.groups[0].works.map(\.work) == Array(2...9))
    #expect(AllTasks(bytes: all.bytes) == all)
  }

  @Test func aCopyOfATaskIsNone() {
    var memory = Self.memory
    for (address, word) in memory.words where address < 0x1_8000 {
      memory.words[address + 0x10_0000] = word
    }
    #expect(tasks(in: memory).map(\.id) == Array(1...8))
  }

  /// - Parameter index: the index of the word in the object; with another value, the object is no task.
  @Test(
    arguments: [
      (0, 1), (1, 1 << 32), (4, 0x15C0), (4, 0x1_8200_1500), (7, 0x1000), (8, 0x10), (12, 0x1_4015),
      (12, 0x4015 | 1 << 32), (12, 0x4814), (12, 0x4015 | 0x1000), (12, 0x4001), (13, 0x10),
      (15, 0x10), (19, 0x1_15), (20, 0), (20, 0x1_0200),
    ] as [(UInt64, UInt64)])
  func oneWordThatDoesNotFitIsEnough(index: UInt64, value: UInt64) {
    var memory = TaskWords()
    memory.addTask(1, at: 0x1_0000, status: Self.status, subject: (0x1_0200, 2))
    #expect(tasks(in: memory).count == 1)
    memory.words[0x1_0000 + index * 8] = value
    #expect(tasks(in: memory).isEmpty)
  }

  @Test func anEndlessChainEnds() {
    var memory = Self.memory
    memory.words[0x1_0240] = 0x1_0200
    #expect(tasks(in: memory).first?.frames.count == 16)
  }

  /// Random changes of words never create a task where there is none.
  @Test func changedMemoryHasNoOtherTasks() {
    var random = SeededGenerator(state: 42)
    let memory = Self.memory
    let places = memory.words.keys.sorted()
    let values = places.map { memory.words[$0] ?? 0 }
    let known = Self.known.sorted()
    let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_CORES"] == "all"
    for _ in 0..<(isFull ? 100_000 : 2000) {
      var changed = memory
      for _ in 0..<Int.random(in: 1...12, using: &random) {
        let place = places.randomElement(using: &random) ?? 0
        let word = changed.words[place] ?? 0
        changed.words[place] =
          switch Int.random(in: 0..<5, using: &random) {
          case 0: nil
          case 1: UInt64.random(in: 0 ... .max, using: &random)
          case 2: values.randomElement(using: &random) ?? 0
          case 3: known.randomElement(using: &random) ?? 0
          default: word ^ 1 << UInt64.random(in: 0..<64, using: &random)
          }
      }
      let reader = TaskReader(TaskWords.runtime, changed)
      let found = Set(places.filter { reader.task(at: $0) != nil })
      // The changes may make the task that has ended look as if it ran again.
      #expect(found.subtracting([0x1_8000]).isSubset(of: Self.known))
    }
  }
}

private struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}
