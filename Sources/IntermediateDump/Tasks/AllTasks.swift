/// All tasks of Swift concurrency that a search of a process's memory has found, whether or not a thread runs them.
package struct AllTasks: Sendable, Equatable {
  /// The number of tasks; tasks that have ended and the timers of `Task.sleep` do not count.
  package var count: UInt64
  /// The number of timers of `Task.sleep`, for which the runtime creates tasks too.
  package var timerCount: UInt64 = 0
  /// The number of bytes of writable private memory that were searched for tasks; `bytesUnseen` counts the rest.
  package var bytesSeen: UInt64 = 0
  package var bytesUnseen: UInt64 = 0
  /// The tasks in groups, the largest group first.
  package var groups: [TaskGroup] = []

  package init(count: UInt64, groups: [TaskGroup] = []) {
    (self.count, self.groups) = (count, groups)
  }
}

extension AllTasks {
  /// The cycles of tasks, each of which waits for the next one, so that none of them can continue.
  ///
  /// Each cycle contains the IDs of its tasks.
  package var cycles: [[UInt64]] {
    var awaited: [UInt64: UInt64] = [:]
    for record in groups.lazy.flatMap(\.records) where record.awaited != 0 {
      awaited[record.id] = record.awaited
    }
    return Cycles.all(from: awaited.keys.sorted()) { awaited[$0] }
  }

  /// At most `limit` groups, the largest first; groups that contain a task of a cycle are preferred.
  package func groups(atMost limit: Int) -> [TaskGroup] {
    groups.first(limit, cycles: groups.count > limit ? Set(cycles.joined()) : [])
  }

  /// The tasks in the format of the key `allTasks`.
  package var bytes: [UInt8] {
    var words = [count, timerCount, bytesSeen, bytesUnseen, UInt64(groups.count)]
    for group in groups {
      words += [group.state.code, group.count, group.cancelledCount]
      words += [UInt64(group.frames.count), UInt64(group.records.count)] + group.frames
      for record in group.records { words += record.words }
    }
    for group in groups {
      words.append(UInt64(group.works.count))
      for work in group.works { words += [work.task, work.work] }
    }
    for group in groups {
      let named = group.records.filter { $0.name != nil }
      words.append(UInt64(named.count))
      for record in named {
        let name = Array((record.name ?? "").utf8)
        words += [record.id, UInt64(name.count)]
        words += (name + [UInt8](repeating: 0, count: (8 - name.count % 8) % 8)).words
      }
    }
    return [UInt8](words: words)
  }

  /// Reads the numbers and then the groups of tasks, up to the first incomplete group; nil if even the numbers are
  /// incomplete.
  package init?(bytes: [UInt8]) {
    var rest = bytes.words[...]
    func next(_ count: UInt64) -> ArraySlice<UInt64>? {
      guard count <= UInt64(rest.count) else { return nil }
      defer { rest = rest.dropFirst(Int(count)) }
      return rest.prefix(Int(count))
    }
    guard let head = next(5).map(Array.init) else { return nil }
    self.init(count: head[0])
    (timerCount, bytesSeen, bytesUnseen) = (head[1], head[2], head[3])
    while UInt64(groups.count) < head[4], let numbers = next(5).map(Array.init),
      let state = UInt8(exactly: numbers[0]).flatMap(TaskState.init),
      let frames = next(numbers[3]), numbers[4] <= UInt64(rest.count / 4),
      let records = next(numbers[4] * 4).map(Array.init)
    {
      groups.append(
        TaskGroup(
          state: state, count: numbers[1], cancelledCount: numbers[2], frames: Array(frames),
          records: stride(from: 0, to: records.count, by: 4).map {
            TaskRecord(words: records[$0..<$0 + 4])
          }))
    }
    guard UInt64(groups.count) == head[4] else { return }
    for index in groups.indices {
      guard let count = next(1)?.first, count <= UInt64(rest.count / 2),
        let works = next(count * 2).map(Array.init)
      else { return }
      groups[index].works = stride(from: 0, to: works.count, by: 2).map {
        TaskWork(task: works[$0], work: works[$0 + 1])
      }
    }
    for index in groups.indices {
      guard let count = next(1)?.first else { return }
      for _ in 0..<min(count, UInt64(groups[index].records.count)) {
        guard let head = next(2).map(Array.init), head[1] <= UInt64(rest.count) * 8,
          let words = next((head[1] + 7) / 8)
        else { return }
        let name = [UInt8](words: Array(words)).prefix(Int(head[1]))
        let record = groups[index].records.firstIndex { $0.id == head[0] }
        if let record { groups[index].records[record].name = String(decoding: name, as: UTF8.self) }
      }
    }
  }
}

extension [UInt8] {
  /// The bytes of words, lowest byte first.
  fileprivate init(words: [UInt64]) {
    self = []
    reserveCapacity(words.count * 8)
    for word in words { append(littleEndian: word) }
  }

  /// The words in the bytes; bytes after the last whole word are left out.
  fileprivate var words: [UInt64] {
    stride(from: 0, to: count - count % 8, by: 8).compactMap {
      littleEndian(at: $0, as: UInt64.self)
    }
  }
}
