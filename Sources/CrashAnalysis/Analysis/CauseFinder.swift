internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the cause of a crash, and the evidence for the cause, in the dump.
///
/// `CauseFinder` names no cause without evidence, because a wrong cause costs the reader more time than no cause.
struct CauseFinder {
  let snapshot: ProcessSnapshot
  /// The crashing thread's stack; empty if it was not captured.
  let trace: StackTrace
  private let code: CodeReader

  /// - Parameter symbols: opens the files of the modules, to read code that is not in the dump.
  init(of snapshot: ProcessSnapshot, trace: StackTrace?, symbols: SymbolSource? = nil) {
    self.snapshot = snapshot
    code = CodeReader(snapshot: snapshot, symbols: symbols)
    self.trace = trace ?? StackTrace()
  }

  /// The Swift runtime's message; if there is none, the C library's message, or else a message about an uncaught C++
  /// exception or a Rust panic.
  var message: String? {
    let owner = MessageOwner(snapshot: snapshot, frames: trace.frames)
    return owner.swiftMessage?.text ?? owner.libraryMessage?.text
      ?? AbortFinding(snapshot: snapshot, frames: trace.frames).exceptionMessage
      ?? RustPanic(trace.frames, code)?.message
  }

  /// Messages of the Swift runtime and the C library that are not known to belong to the crash.
  ///
  /// Other threads may have written them, or the crashing thread earlier.
  var otherMessages: [String] {
    MessageOwner(snapshot: snapshot, frames: trace.frames).otherMessages
  }

  /// The cause of the crash with its evidence; nil if the dump does not show the cause.
  ///
  /// Without `si_code`, a fault cannot be distinguished from a signal that was sent, so the cause is only likely.
  var finding: Finding? {
    guard let exception = snapshot.exception, let signal = exception.signal else { return nil }
    guard var finding = finding(exception, signal) else { return nil }
    if exception.code == nil, finding.certainty == .certain { finding.certainty = .likely }
    return finding
  }

  private func finding(_ exception: ExceptionSnapshot, _ signal: Int32) -> Finding? {
    // The kernel sends SIGQUIT for a key of the terminal, with a positive code.
    if exception.wasSent || snapshot.isQuitRequest {
      return SentFinding(snapshot: snapshot, frames: trace.frames).finding(exception, signal)
    }
    switch signal {
    case SIGSEGV:
      return MemoryFault(
        site: FaultSite(exception: exception, snapshot: snapshot, trace: trace, code: code)
      ).finding
    case SIGABRT where exception.code == nil && trace.frames.contains(where: Self.aborts):
      return AbortFinding(snapshot: snapshot, frames: trace.frames).finding
    case SIGBUS: return busError(exception)
    case SIGFPE: return arithmetic(exception)
    case SIGILL, SIGTRAP:
      return TrapFinding(snapshot: snapshot, frames: trace.frames).finding(exception, signal)
    case SIGSYS:
      return exception.systemCall.map { call in
        // The code of a seccomp filter is SYS_SECCOMP (1), and that of syscall user dispatch is SYS_USER_DISPATCH (2).
        // Source: Linux include/uapi/asm-generic/siginfo.h.
        Finding(
          cause: exception.code == 2 ? .dispatchedSystemCall(call) : .forbiddenSystemCall(call),
          evidence: [.systemCallSignal(call)])
      }
    case SIGXCPU:
      let used = (snapshot.process.userTime ?? 0) &+ (snapshot.process.systemTime ?? 0)
      return Finding(
        cause: .cpuLimit,
        evidence: [.processorTimeSignal] + (used > 0 ? [.processorTime(used)] : []))
    case SIGXFSZ: return SentFinding.fileSizeLimit
    default: return nil
    }
  }

  /// True for a call of abort(), which shows that the process sent SIGABRT to itself.
  private static func aborts(_ frame: StackFrame) -> Bool { frame.linkageName == "abort" }

  private func busError(_ exception: ExceptionSnapshot) -> Finding? {
    let fact = snapshot.signalEvidence
    switch exception.code.map({ Int($0) }) {
    case BUS_ADRALN: return Finding(cause: .misalignedAccess, evidence: fact)
    case BUS_ADRERR:
      guard let address = exception.address,
        let mapping = snapshot.mapping(containing: address), mapping.path.hasPrefix("/")
      else { return Finding(cause: .noMemoryBehindAddress, evidence: fact) }
      return Finding(
        cause: .truncatedFile(address, mapping), certainty: .likely,
        evidence: fact + [.mapping(mapping)])
    case BUS_MCEERR_AR, BUS_MCEERR_AO: return Finding(cause: .hardwareMemoryError, evidence: fact)
    default: return nil
    }
  }

  private func arithmetic(_ exception: ExceptionSnapshot) -> Finding? {
    let cause: Cause
    switch exception.code.map({ Int($0) }) {
    // The kernel also reports FPE_INTDIV if a quotient does not fit into the result register.
    case FPE_INTDIV: cause = .integerDivisionByZero
    case FPE_INTOVF: cause = .integerOverflow
    case FPE_FLTDIV: cause = .floatingPointDivisionByZero
    case FPE_FLTOVF, FPE_FLTUND, FPE_FLTRES, FPE_FLTINV, FPE_FLTSUB: cause = .floatingPointException
    default: return nil
    }
    return Finding(cause: cause, evidence: snapshot.signalEvidence)
  }
}
