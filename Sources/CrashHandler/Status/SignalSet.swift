internal import CSignalSafe

/// A set of signals, as the kernel writes one: bit n - 1 stands for signal n.
package struct SignalSet: Sendable, Equatable {
  package let mask: UInt64

  package init(mask: UInt64) { self.mask = mask }

  /// Those that an instruction raises.
  ///
  /// A thread that blocks one of them dies of it without any handler being run.
  package static let faults = SignalSet(mask: CrashSignals.faults)

  package func intersection(_ other: SignalSet) -> SignalSet {
    SignalSet(mask: mask & other.mask)
  }

  package func subtracting(_ other: SignalSet) -> SignalSet {
    SignalSet(mask: mask & ~other.mask)
  }

  package func contains(_ signal: Int32) -> Bool {
    (1...64).contains(signal) && mask >> UInt64(signal - 1) & 1 == 1
  }

  package var isEmpty: Bool { mask == 0 }

  /// In ascending order.
  package var signals: [Int32] { (1...64).filter(contains) }

  /// Such as "SIGBUS, SIGSEGV".
  package var names: String { signals.map(Self.name).joined(separator: ", ") }

  /// The name of a signal that this handler may use; of another one its number.
  package static func name(of signal: Int32) -> String {
    switch signal {
    case SIGQUIT: "SIGQUIT"
    case SIGILL: "SIGILL"
    case SIGTRAP: "SIGTRAP"
    case SIGABRT: "SIGABRT"
    case SIGBUS: "SIGBUS"
    case SIGFPE: "SIGFPE"
    case SIGSEGV: "SIGSEGV"
    case SIGPIPE: "SIGPIPE"
    case SIGXCPU: "SIGXCPU"
    case SIGXFSZ: "SIGXFSZ"
    case SIGSYS: "SIGSYS"
    default: "signal \(signal)"
    }
  }
}
