/// What was found out about the cause of a crash.
struct Finding: Equatable {
  /// How far it can be believed.
  enum Certainty: String {
    /// The processor, the kernel or the program's own runtime said so.
    case certain
    /// What fits the evidence best; another cause can leave the same.
    case likely
    /// From names in debug information or symbol tables, and from code.
    case inferred
  }

  var kind: String
  var certainty = Certainty.certain
  /// A sentence or more for a person.
  var text: String
  var evidence: [String] = []
}
