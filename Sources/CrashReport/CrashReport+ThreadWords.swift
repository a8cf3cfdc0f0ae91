extension CrashReport {
  /// Such as "Thread 12 "worker" crashed (state R)"; raw.
  func title(of thread: Thread) -> String {
    let name = thread.name.map { " \"\($0)\"" } ?? ""
    let verb = thread.crashed ? " \(verb)" : ""
    let notes = notes(on: thread).joined(separator: ", ")
    return "Thread \(thread.id)\(name)\(verb)" + (notes.isEmpty ? "" : " (\(notes))")
  }

  private func notes(on thread: Thread) -> [String] {
    let how = thread.crashed && request == nil ? nil : thread.capturedBy
    let state = thread.state.map { "state \($0)" }
    let call = thread.systemCall.map { call in
      "in " + (call.name ?? "system call \(call.number)")
    }
    let nice = thread.niceValue.flatMap { $0 == 0 ? nil : "nice \($0)" }
    let policy = thread.schedulingPolicy.flatMap { $0 == "other" ? nil : $0 }
    return [how, state, call, policy, nice].compactMap { $0 }
  }

  /// What the first thread did.
  private var verb: String {
    guard let request else { return "crashed" }
    guard request.kind == "hang" else { return "requested the dump" }
    return switch request.threadEvidence {
    case "known": "hung"
    case "last-seen": "answered last"
    default: "monitored"
    }
  }

  /// Why frames of a thread have no names, as that a file is of another build.
  func symbolNotes(on thread: Thread) -> [String] {
    let nameless = Set(thread.frames.filter { $0.function == nil }.compactMap(\.module))
    return modules.filter { $0.name.map(nameless.contains) ?? false }.compactMap(\.symbolNote)
  }

  /// Which threads are not there; a sentence each.
  var missingThreads: [String] {
    var sentences: [String] = []
    if let omitted = capture.threadsOmitted, omitted > 0 {
      sentences.append("\(omitted) more threads are not in the dump.")
    }
    if let unlisted = capture.threadsUnlisted, unlisted > 0 {
      sentences.append("\(unlisted) threads are not in the minidump's list.")
    }
    return sentences
  }
}

extension CrashReport.Thread {
  /// Those that were captured, in the order in which people look for them: rax before r8 before
  /// r10, names without a number first, then by number.
  var registerNames: [String] {
    func key(_ name: String) -> (Int, String) {
      (Int(name.drop { !$0.isNumber }) ?? -1, name)
    }
    return registers.keys.sorted { key($0) < key($1) }
  }
}
