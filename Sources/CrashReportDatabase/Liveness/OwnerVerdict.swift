/// Whether somebody may still need a file, and how that is known.
package enum OwnerVerdict: Sendable, Equatable {
  /// With the nanoseconds after which it will be taken for dead; nil where only its end ends it.
  case alive(String, still: Int64? = nil)
  case dead(String)

  package var isDead: Bool {
    if case .dead = self { true } else { false }
  }
}
