internal import IntermediateDump
internal import ProcessSnapshot

/// Threads that wait for the same object, or in the same place for objects of one kind.
package struct WaitGroup: Sendable, Equatable {
  package let wait: Wait
  package var threads: [UInt32]
  /// The places in which the threads wait, the most frequent one first.
  package var places: [String]
}

extension Waits {
  /// The waits in groups, the largest group first.
  ///
  /// Waits outside the program's own code are left out if their owner is not known, because idle threads of a runtime
  /// wait too.
  package var groups: [WaitGroup] {
    struct Key: Hashable {
      let subject: Wait.Subject
      let address: Address?
      let owner: UInt32?
      let label: String?
      let place: String?
      let isCertain: Bool
      let hasLimit: Bool
    }
    var groups: [Key: (index: Int, group: WaitGroup, counts: [String: Int])] = [:]
    for wait in all {
      let isKnown = wait.knownOwner != nil || wait.readers > 0
      guard isKnown || wait.place != nil else { continue }
      let key = Key(
        subject: wait.subject, address: isKnown ? wait.address : nil, owner: wait.knownOwner,
        label: wait.label, place: isKnown ? nil : wait.place, isCertain: wait.isCertain,
        hasLimit: wait.hasLimit)
      var entry =
        groups[key] ?? (groups.count, WaitGroup(wait: wait, threads: [], places: []), [:])
      entry.group.threads.append(wait.threadID)
      if let place = wait.place { entry.counts[place, default: 0] += 1 }
      groups[key] = entry
    }
    return groups.values.map { entry in
      var group = entry.group
      group.places = entry.counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
      return (entry.index, group)
    }.sorted { ($1.1.threads.count, $0.0) < ($0.1.threads.count, $1.0) }.map(\.1)
  }

  /// The owner for which the most threads wait, directly or through other threads, with one of its waits.
  ///
  /// The owner waits for no other thread of the dump; if it is not in the dump, only the wait shows it. The result is nil if no
  /// owner is known.
  var bottleneck: (wait: Wait, count: Int)? {
    enum Key: Hashable {
      case thread(UInt32)
      case absentThread(UInt32)
      case readers(Address)
    }
    var found: [Key: (index: Int, wait: Wait, count: Int)] = [:]
    for (index, wait) in all.enumerated() {
      let chain = chain(from: wait.threadID)
      guard let last = chain.last, deadlock(with: last) == nil else { continue }
      let key: Key
      let direct: Wait?
      if let end = self.wait(of: last) {
        if let absent = end.absentOwner {
          key = .absentThread(absent.id)
        } else if end.readers > 0 {
          key = .readers(end.address)
        } else {
          key = .thread(last)
        }
        let isHeld = end.absentOwner != nil || end.readers > 0
        direct = isHeld ? end : chain.dropLast().last.flatMap { self.wait(of: $0) }
      } else {
        key = .thread(last)
        direct = chain.dropLast().last.flatMap { self.wait(of: $0) }
      }
      guard let direct else { continue }
      found[key, default: (index, direct, 0)].count += 1
    }
    let most = found.values.max { ($0.count, $1.index) < ($1.count, $0.index) }
    return most.map { ($0.wait, $0.count) }
  }

  /// The thread that a dump requested by a tool is about: one of the first deadlock, or the owner for which the most
  /// threads wait; nil if there is none, or for other dumps.
  func shownThread(for request: DumpRequest?) -> UInt32? {
    guard request?.kind == .tool || request?.kind == .coreFile else { return nil }
    return deadlocks.first?.waits.first?.threadID ?? bottleneck?.wait.owner
  }
}
