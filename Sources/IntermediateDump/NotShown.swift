/// A part of a process that a dump lacks because `/proc` did not show it.
///
/// Readers must treat such a part as unknown, not as empty.
///
/// Bit n of `notShown` stands for raw value n.
package enum NotShown: UInt8, CaseIterable, Sendable {
  case mappings, threads, descriptors

  package var bit: UInt64 { @_noLocks get { 1 &<< UInt64(rawValue) } }

  /// The name of the part that `/proc` did not show, such as "threads".
  package var name: String { self == .descriptors ? "open files" : "\(self)" }
}
