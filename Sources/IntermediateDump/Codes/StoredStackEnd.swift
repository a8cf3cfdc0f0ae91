/// Why unwinding a stored stack ended; part of the values of the key `threadFrames`.
package enum StoredStackEnd: UInt8, DumpCode {
  case bottom = 0
  case lost = 1
  case limit = 2
  case noContext = 3

  package var word: String { self == .noContext ? "no context" : "\(self)" }
}
