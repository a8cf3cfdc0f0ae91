/// Whether somebody may still need a file, and how that is known.
package enum OwnerVerdict: Sendable, Equatable {
  case alive(String)
  case dead(String)

  package var isDead: Bool {
    if case .dead = self { true } else { false }
  }
}
