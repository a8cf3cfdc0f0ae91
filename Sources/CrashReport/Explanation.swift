internal import ProcessSnapshot

/// Says in words what the dump shows of a crash's cause, and by which evidence.
///
/// Says nothing where nothing is known: an explanation that may be wrong costs more than none.
struct Explanation {
  let snapshot: ProcessSnapshot
  let frames: [CrashReport.Frame]
  /// The crashing thread as it is reported, for how deep its stack is.
  var thread: CrashReport.Thread?

  init(
    of snapshot: ProcessSnapshot, frames: [CrashReport.Frame], thread: CrashReport.Thread? = nil
  ) {
    self.snapshot = snapshot
    self.frames = frames
    self.thread = thread
  }

  var text: String? {
    let resources = isForeign ? [] : CrashReport.Resources(snapshot).evidence
    let sentences = [finding?.text].compactMap { $0 } + resources
    return sentences.isEmpty ? nil : sentences.joined(separator: " ")
  }

  /// True where nothing crashed, or another process ended this one: then nothing it ran out of is
  /// evidence.
  private var isForeign: Bool {
    guard let exception = snapshot.exception, exception.signal != nil else { return true }
    return exception.wasSent && !snapshot.isOwnProcess(exception.sender)
  }

  /// The cause; nil where the dump does not show it.
  var finding: Finding? {
    guard let exception = snapshot.exception, let signal = exception.signal else { return nil }
    if exception.wasSent {
      return SentFinding(snapshot: snapshot, frames: frames).finding(exception, signal)
    }
    switch signal {
    case SignalNames.segmentation:
      return MemoryFault(exception: exception, snapshot: snapshot, frames: frames, thread: thread)
        .finding
    case SignalNames.bus: return busError(exception)
    case SignalNames.floatingPoint: return arithmetic(exception)
    case SignalNames.illegal, SignalNames.trap:
      return TrapFinding(snapshot: snapshot, frames: frames).finding(exception, signal)
    case SignalNames.systemCall:
      return exception.systemCall.map(systemCall)
    case SignalNames.processorTime: return processorTime
    case SignalNames.fileSize: return SentFinding.fileSizeLimit
    default: return nil
    }
  }

  private var processorTime: Finding {
    let used = (snapshot.process.userTime ?? 0) &+ (snapshot.process.systemTime ?? 0)
    var evidence = ["signal SIGXCPU from the kernel"]
    if used > 0 { evidence.append("CPU time used: \(used / 1_000_000) ms") }
    return Finding(
      kind: "cpu-limit",
      text: "The process used up the CPU time that its limit (RLIMIT_CPU) allows.",
      evidence: evidence)
  }

  private func systemCall(_ call: ExceptionSnapshot.TrappedSystemCall) -> Finding {
    let name = CrashReport.SystemCall(call).name.map { " (\($0))" } ?? ""
    return Finding(
      kind: "forbidden-system-call",
      text: "System call number \(call.number)\(name) is not allowed by a seccomp filter of this"
        + " process.",
      evidence: [
        "signal SIGSYS, si_syscall \(call.number), si_arch \(HexAddress(UInt64(call.architecture)))"
      ])
  }

  private func busError(_ exception: ExceptionSnapshot) -> Finding? {
    let fact = snapshot.signalFact
    switch exception.code {
    case 1:
      return Finding(
        kind: "misaligned-access",
        text: "An access to a misaligned address, on an instruction that does not allow it.",
        evidence: fact)
    case 2:
      guard let address = exception.address,
        let mapping = snapshot.mapping(containing: address), mapping.path.hasPrefix("/")
      else {
        return Finding(
          kind: "no-memory-behind-address",
          text: "An access to an address that exists but has no memory behind it.",
          evidence: fact)
      }
      return Finding(
        kind: "truncated-file", certainty: .likely,
        text: "An access to \(address) in the mapped file \(mapping.path), behind the"
          + " end of the file or where it could not be read. The file may have been truncated.",
        evidence: fact + ["mapping \(MemoryFault.describe(mapping))"])
    case 4, 5:
      return Finding(
        kind: "hardware-memory-error",
        text: "The hardware reported a memory error at the address.", evidence: fact)
    default: return nil
    }
  }

  private func arithmetic(_ exception: ExceptionSnapshot) -> Finding? {
    let fact = snapshot.signalFact
    func finding(_ kind: String, _ text: String) -> Finding {
      Finding(kind: kind, text: text, evidence: fact)
    }
    switch exception.code ?? 0 {
    case 1:
      // The processor reports a quotient that does not fit in the same way.
      return finding(
        "division-by-zero", "An integer division by zero, or of the smallest integer by -1.")
    case 2: return finding("integer-overflow", "An integer overflow that traps.")
    case 3:
      return finding(
        "division-by-zero", "A floating-point division by zero, with that exception unmasked.")
    case 4...8:
      return finding(
        "floating-point-exception", "A floating-point operation with an unmasked exception.")
    default: return nil
    }
  }
}

extension ProcessSnapshot {
  func isOwnProcess(_ sender: ExceptionSnapshot.Sender?) -> Bool {
    guard let sender, let own = process.processID else { return false }
    return Int64(sender.processID) == Int64(own)
  }

  /// What the kernel said of the signal, as evidence.
  var signalFact: [String] {
    guard let exception, let signal = exception.signal else { return [] }
    var fact = "signal \(SignalNames.name(signal) ?? "\(signal)")"
    if let code = exception.code {
      fact += ", \(SignalNames.codeName(signal: signal, code: code) ?? "code \(code)")"
    }
    if let address = exception.address { fact += ", si_addr \(address)" }
    return [fact]
  }
}
