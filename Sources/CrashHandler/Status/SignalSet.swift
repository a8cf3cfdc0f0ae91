internal import IntermediateDump

/// A set of signals in the kernel's format: bit n - 1 stands for signal n.
package struct SignalSet: Sendable, Equatable {
  package let mask: UInt64

  package init(mask: UInt64) { self.mask = mask }

  /// The signals that an instruction can raise.
  ///
  /// If an instruction raises such a signal in a thread that blocks it, the kernel kills the process, and no handler
  /// runs.
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

  /// The signals' numbers in ascending order.
  package var signals: [Int32] { (1...64).filter(contains) }

  /// The signals' names, for example "SIGBUS, SIGSEGV".
  package var names: String { signals.map(SignalNames.text).joined(separator: ", ") }
}
