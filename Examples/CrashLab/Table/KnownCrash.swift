/// A kind of crash: how crash-lab names it, and what it must leave behind, written down from signal(7), sigaction(2) and
/// the source of the victim.
///
/// This is the only table of kinds. crash-lab takes names, summaries and places from it. The crash catalogue checks the
/// rest of it, and the proofs of deaths, stacks and reports take the kinds that they need by what the table says of them.
public struct KnownCrash: Sendable {
  /// The expected fault address.
  public enum Address: Sendable {
    case exactly(UInt64)
    /// The address of the faulting instruction.
    case instruction
    /// An address that differs between runs; gdb reads it from the core file.
    case any
    /// The signal carries no fault address.
    case none
  }

  /// The cause that a report gives for this crash in an unoptimized build, if there is no condition.
  public struct Cause: Sendable {
    /// A part of the message; nil for none.
    public var message: String?
    /// The cause's name in the report's JSON.
    public let kind: String
    public var certainty = "certain"
    /// A part of one of the report's facts for this cause.
    public let evidence: String
    /// Whether the report needs names from the executable, which takes a second.
    public var isNamed = false
    public var place = CrashPlace.main
  }

  public let kind: String
  /// What crash-lab does, for its list.
  public let summary: String
  public var signal: Int32
  /// `si_code` on x86_64; of a stack overflow, the code on the main thread: other threads' stacks end at a guard page.
  public var code: Int32
  public var address: Address
  /// A part of the name of the victim's function that crashed.
  public let function: String
  /// The message of the Swift runtime or libc; nil if there is none, or not in every build.
  public var message: String?
  /// A part of the report's explanation.
  public var explanation: String?
  public var places = CrashPlace.allCases
  /// Whether the stack has no room left for a signal handler, so that the handler needs an alternate stack.
  public var overflowsStack = false
  /// Whether the requesting thread itself crashes, not a thread that the kernel or the runtime chooses.
  public var isOnItsThread = true
  /// The seconds until the crash happens, in addition to the handler's time.
  public var delay = 0

  /// Whether debuggers also examine this crash, on every kind of thread.
  public var isDebugged = false
  /// One for each place with a different cause.
  public let causes: [Cause]

  /// The crashes that debuggers also examine, on every kind of thread.
  public static let debugged = all.filter(\.isDebugged)

  public static let all = memory + processor + library + runtime + stack + enforced + sent
}
