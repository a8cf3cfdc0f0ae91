internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot

/// Sentences about the evidence for how a run ended.
struct EndSentences {
  let evidence: EndEvidence
  let course: RunCourse

  var all: [String] {
    let exit =
      course.followsExits
      ? "It called neither exit nor _exit." : "It did not call exit; whether _exit is not known."
    return [owner, course.notes.termination.map(termination), exit].compactMap(\.self)
      + boot + kills + memory + heartbeat
  }

  private var owner: String {
    let record = evidence.record
    let time = record.launchTime.map { " at \(TimeText.utc(nanoseconds: $0))" } ?? ""
    return "Process \(record.processID) started the handler\(time)."
  }

  private func termination(_ note: RunNotes.Termination) -> String {
    let what =
      switch note.reaction {
      case .defaultAction: "its default action followed"
      case .discarded: "the kernel discards its default action for process 1"
      case .program: "the program reported that it was stopping"
      }
    return "Signal \(note.signal) came at \(TimeText.utc(nanoseconds: note.time)): \(what)."
  }

  private var boot: [String] {
    guard let now = evidence.bootID else { return [] }
    guard now != evidence.record.bootID else {
      return ["The machine has not been restarted since."]
    }
    let time = evidence.bootTime.map { " at \(TimeText.utc(nanoseconds: $0))" } ?? ""
    return ["The machine was restarted\(time): boot \(evidence.record.bootID), now \(now)."]
  }

  private var kills: [String] {
    guard evidence.bootID == evidence.record.bootID, let seen = course.heartbeat ?? course.launch
    else { return [] }
    func sentence(_ whose: String, _ before: UInt64?, _ after: UInt64?) -> String? {
      guard let before else { return nil }
      let now = after.map { "\($0) now" } ?? "not readable now"
      return
        "Processes \(whose) that were killed because memory ran out: \(before) at its \(moment), \(now)."
    }
    return [
      sentence("of its cgroup", seen.groupKills, evidence.groupKills),
      sentence("of the machine", seen.machineKills, evidence.machineKills),
      evidence.othersInKernelLog == 0 || evidence.isInKernelLog
        ? nil
        : "The kernel's log names \(evidence.othersInKernelLog) killed since its launch, but not this"
          + " process.",
    ].compactMap { $0 }
  }

  private var moment: String { course.heartbeat == nil ? "launch" : "last heartbeat" }

  private var memory: [String] {
    guard let seen = course.heartbeat ?? course.launch, let resident = seen.residentMemory else {
      return []
    }
    var parts = ["\(resident >> 20) MiB itself"]
    if let used = seen.memoryUsed {
      let limit = seen.memoryLimit.map { " of \($0 >> 20)" } ?? ""
      parts.append("\(used >> 20)\(limit) MiB its cgroup")
    }
    if let free = seen.availableMemory, let all = seen.machineMemory {
      parts.append("\(free >> 20) of \(all >> 20) MiB were left on the machine")
    }
    return ["Memory at its \(moment): \(parts.joined(separator: ", "))."]
  }

  private var heartbeat: [String] {
    guard let heartbeat = course.heartbeat else {
      return [
        "No heartbeats were written (HandlerOptions.heartbeatInterval, or a hang monitor):"
          + " when it ended is not known."
      ]
    }
    var sentences = ["Its last heartbeat was at \(TimeText.utc(nanoseconds: heartbeat.time))."]
    if heartbeat.hangReport != nil { sentences.append("It hung at that time.") }
    if !heartbeat.lockedFiles.isEmpty {
      sentences.append("\(RunEnd.lockSentence)\(heartbeat.lockedFiles.joined(separator: ", ")).")
    }
    return sentences
  }
}
