internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

// Text about what keeps a process from continuing. As in a `ReportSection`, the text is not escaped.

extension CrashReport {
  /// Sentences about a standstill that is not a deadlock, starting with who waits for what.
  func sentences(of standstill: Standstill) -> [String] {
    let subject = standstill.threadID.flatMap { id in threads.first { $0.id == id } }
    switch standstill.kind {
    case .deadlock: return []
    case .lock, .wait:
      let isOfRefused = standstill.group?.wait.isRefused ?? false
      let last =
        standstill.kind == .lock || isOfRefused ? subject.flatMap { waits.wait(of: $0.id) } : nil
      let possible = last?.knownOwner == nil ? last?.possibleDeadlock : nil
      let readers = (last?.references ?? []).prefix(Self.busyCount).compactMap(reader)
      return standstill.group.map { [sentence(on: $0)] + [possible].compactMap(\.self) + readers }
        ?? []
    case .spin:
      let place = subject.flatMap { verdict.ownCode.waitingPlace(in: $0.frames) }
      let count = Quantity.counted(standstill.waiting, "thread")
      return [
        "\(count) \(standstill.waiting == 1 ? "runs" : "run") in a function that takes a lock"
          + (place.map { ", in \($0)" } ?? "")
          + ", and may wait there until another thread gives the lock back."
      ] + busySentences
    case .pool:
      let count = UInt64(standstill.blocked.count)
      return [
        "All \(Quantity.counted(count, "thread")) of the cooperative pool are blocked"
          + "\(places(of: standstill.blocked)), while \(ready(standstill.waiting)).",
        subject.map(sentence) ?? "",
      ].filter { !$0.isEmpty }
    case .actor:
      let tasks = Quantity.counted(standstill.waiting, "task")
      let verb = standstill.waiting == 1 ? "waits" : "wait"
      let thread = subject.map { "thread \($0.id)" } ?? "a thread"
      return ["\(tasks) \(verb) for an actor, which \(thread) most likely occupies."]
        + [subject.map(sentence)].compactMap(\.self)
    case .tasks: return taskSentences
    case .thread: return subject.map { [sentence(on: $0)] } ?? []
    case .none: return ["Nothing is known to wait."] + busySentences
    }
  }

  /// The maximum number of threads that `busySentences` describes.
  private static let busyCount = 4

  /// Sentences about the threads that run, or that are in a system call, in the program's own code.
  ///
  /// Threads in the same place have one sentence.
  private var busySentences: [String] {
    var places: Set<String> = []
    let sentences = threads.compactMap { thread -> String? in
      guard let activity = thread.activity(snapshot.architecture),
        let place = verdict.ownCode.place(in: thread.frames), places.insert(place).inserted
      else { return nil }
      return "Thread \(thread.id) \(activity) in \(place)."
    }
    return Array(sentences.prefix(Self.busyCount))
  }

  /// A sentence about what a thread does that may be a reader of a lock.
  private func reader(_ id: UInt32) -> String? {
    threads.first { $0.id == id }.map(sentence)
  }

  private func ready(_ count: UInt64) -> String {
    "\(Quantity.counted(count, "task")) \(count == 1 ? "is" : "are") ready to run"
  }

  /// A sentence about what a thread does, such as "Thread 7 runs in f() at App.swift:3.".
  private func sentence(on thread: ReportThread) -> String {
    if let wait = waits.wait(of: thread.id) { return sentence(on: wait, tellsOwner: true) }
    let place = verdict.ownCode.place(in: thread.frames).map { " in \($0)" } ?? ""
    return "Thread \(thread.id) \(thread.activity(snapshot.architecture) ?? "was")\(place)."
  }

  /// The places of threads, such as " in f() at App.swift:3 and 1 other place"; empty if no place is known.
  private func places(of ids: [UInt32]) -> String {
    let found = ids.compactMap { id in
      waits.wait(of: id)?.place
        ?? threads.first { $0.id == id }.flatMap { verdict.ownCode.place(in: $0.frames) }
    }
    let counts = Dictionary(found.map { ($0, 1) }, uniquingKeysWith: +)
    return Self.text(ofPlaces: counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key))
  }

  private static func text(ofPlaces places: [String]) -> String {
    guard let first = places.first else { return "" }
    let rest = places.count - 1
    return " in \(first)"
      + (rest > 0 ? " and \(Quantity.counted(UInt64(rest), "other place"))" : "")
  }

  /// A sentence about equal waits, such as "46 threads wait in f() at Pool.swift:31 for the mutex at 0x7f01, held by
  /// thread 7, which is in read in g() at Pool.swift:9.".
  func sentence(on group: WaitGroup) -> String {
    let wait = group.wait
    guard group.threads.count > 1 else { return sentence(on: wait, tellsOwner: true) }
    let isOneObject = wait.knownOwner != nil || wait.readers > 0 || wait.label != nil
    let noun = isOneObject ? wait.noun : wait.kindNoun
    let limit = wait.hasLimit ? ", with a time limit," : ""
    let holder = holder(of: wait, tellsOwner: true)
    return "\(group.threads.count) threads wait\(Self.text(ofPlaces: group.places))\(limit) for"
      + " \(noun)\(holder)."
  }
}
