extension CrashReport {
  /// The cause of a crash as a word, and what it was told by.
  public struct Cause: Codable, Sendable, Equatable {
    /// A word of the table in `Docs/Reports.md`, such as "null-dereference".
    public var kind: String
    /// "certain", "likely" or "inferred".
    public var certainty: String
    /// What of the dump says so, one fact each.
    public var evidence: [String]

    init(_ finding: Finding) {
      kind = finding.kind
      certainty = finding.certainty.rawValue
      evidence = finding.evidence
    }
  }
}
