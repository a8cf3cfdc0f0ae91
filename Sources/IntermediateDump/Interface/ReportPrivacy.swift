/// The level of privacy of dumps and reports; each level leaves out more than the level before it.
///
/// Later versions may add levels, so this type is not an enum.
///
/// `Docs/Reference/ThreatModel.md` lists what each level leaves out.
public struct ReportPrivacy: RawRepresentable, Sendable, Hashable, Comparable {
  /// The number that stands for the level in files; a level with a larger number leaves out more.
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Dumps and reports contain everything that was captured.
  public static let full = ReportPrivacy(rawValue: 0)
  /// Dumps and reports contain no memory except stacks, the memory of tasks, instructions around the crash, unwind
  /// tables, and the data that names the types of some objects.
  ///
  /// Dumps, but not reports, also contain the memory of locks. In registers, stacks, tasks and locks, only addresses
  /// and numbers below 4,096 are kept. If registers or the top of the crashed thread's stack point to an object, its
  /// metadata and small reference counts are kept, but not its contents.
  ///
  /// Dumps and reports also contain no vector registers, arguments, annotations, breadcrumbs, thread names or
  /// attachments. Of the messages, reports keep only those of the Swift runtime and the C library that are known to
  /// contain no values. Dumps that the handler writes at this level contain no messages.
  public static let sanitized = ReportPrivacy(rawValue: 1)
  /// Like `sanitized`, but reports contain no memory at all; each thread has only the frames that were found in its
  /// stack.
  public static let noMemory = ReportPrivacy(rawValue: 2)

  public static func < (left: ReportPrivacy, right: ReportPrivacy) -> Bool {
    left.rawValue < right.rawValue
  }

  /// The word for the level in reports; a level that this version does not know counts as the strictest level.
  package var name: String {
    switch self {
    case .full: "full"
    case .sanitized: "sanitized"
    default: "no-memory"
    }
  }
}
