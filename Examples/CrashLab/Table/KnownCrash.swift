/// A kind of crash: how crash-lab names it, and what it must leave behind, written down from signal(7), sigaction(2) and
/// the source of the victim.
///
/// The one table of kinds. crash-lab takes names, summaries and places from it, the catalogue and the proofs of deaths
/// the signal, and the proof of reports the causes.
public struct KnownCrash: Sendable {
  /// How the fault's address is known.
  public enum Address: Sendable {
    case exactly(UInt64)
    /// The faulting instruction's own.
    case instruction
    /// Somewhere that only the run decides; gdb knows it from the core file.
    case any
    /// The signal has none.
    case none
  }

  /// What a report says of it, unoptimized.
  public struct Cause: Sendable {
    /// A part of the message; nil for none.
    public var message: String?
    /// As the report's JSON names it.
    public let kind: String
    public var certainty = "certain"
    /// A part of one of the facts.
    public let evidence: String
    /// Whether names from the executable are asked for, which takes a second.
    public var isNamed = false
    public var place = CrashPlace.main
  }

  public let kind: String
  /// What crash-lab does, for its list.
  public let summary: String
  public var signal: Int32
  /// `si_code` on x86_64; of an overflow on the main thread, whose stack ends where nothing is mapped: others have a guard.
  public var code: Int32
  public var address: Address
  /// A part of the name of the victim's function that crashed.
  public let function: String
  /// What the Swift runtime or libc said; nil if nothing is said, or not in every build.
  public var message: String?
  /// A part of the report's explanation.
  public var explanation: String?
  public var places = CrashPlace.allCases
  /// Whether the thread's stack has no room for a handler: it takes an alternate one to see it.
  public var overflowsStack = false
  /// Whether this thread crashes, and not one that the kernel chooses, or another process.
  public var isOnItsThread = true
  /// Seconds that it takes to die, beside the handler's.
  public var delay = 0

  /// Whether debuggers look at it too, on every kind of thread.
  public var isDebugged = false
  /// One for each place whose cause is another.
  public let causes: [Cause]

  /// Those that debuggers look at too, on every kind of thread.
  public static let debugged = all.filter(\.isDebugged)

  public static let all = memory + processor + library + runtime + stack + enforced + sent
}
