/// The secrets that dumps and reports may contain; an open set, in which each level is stricter than the one before.
///
/// `Docs/Reference/ThreatModel.md` lists what each level leaves out.
public struct ReportPrivacy: RawRepresentable, Sendable, Hashable, Comparable {
  /// The number on disk; a larger number leaves out more.
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Everything that was captured.
  public static let full = ReportPrivacy(rawValue: 0)
  /// No memory except stacks; registers and stacks have only addresses and numbers below 4,096.
  ///
  /// No vector registers, arguments, annotations, breadcrumbs, thread names and attachments; the
  /// only messages are those of the Swift runtime and the C library that are known to contain no
  /// values.
  public static let sanitized = ReportPrivacy(rawValue: 1)
  /// Like `sanitized`, but without any memory; each thread keeps the frames that were found in its stack.
  public static let noMemory = ReportPrivacy(rawValue: 2)

  public static func < (left: ReportPrivacy, right: ReportPrivacy) -> Bool {
    left.rawValue < right.rawValue
  }

  /// The word that reports print; a level that this version does not know counts as the strictest.
  package var name: String {
    switch self {
    case .full: "full"
    case .sanitized: "sanitized"
    default: "no-memory"
    }
  }
}
