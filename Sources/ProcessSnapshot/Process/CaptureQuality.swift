package import IntermediateDump

/// Counts of what the handler captured of the process and left out.
public struct CaptureQuality: Sendable, Equatable {
  /// True for a complete dump; false for a truncated one.
  public var isComplete = false
  /// The offset from which a truncated dump could not be read, and the reason.
  public var damage: String?

  /// Records for a truncated dump that the kernel killed the process while the dump was written.
  package mutating func noteMemoryKill(isCertain: Bool) {
    let kill =
      "the kernel \(isCertain ? "" : "probably ")killed the process for want of memory during the capture"
    damage = damage.map { "\($0); \(kill)" } ?? kill
  }
  public var threadsFound: UInt64?
  public var threadsStopped: UInt64?
  /// The number of threads that did not stop but whose stack and instruction pointers the kernel showed.
  public var threadsReadFromKernel: UInt64?
  /// The number of threads of which only the count is known.
  public var threadsOmitted: UInt64?
  /// The sections of the dump that ended early because the handler faulted in them or its time was over; bit n is
  /// section n.
  public var sectionsAbandoned: UInt64?
  /// Bits for the parts that the handler could not read from `/proc`, for example because a filter of system calls
  /// forbids it: 0 the mappings, 1 the threads, 2 the open descriptors.
  ///
  /// These parts are unknown, not empty. Nil if all was shown.
  public var notShown: UInt64?
  /// The time from the handler's entry to the end mark, in nanoseconds.
  public var captureTime: UInt64?
  /// The number of bytes that were left out because of a limit.
  public var bytesOmitted: UInt64?
  /// The number of threads that do not fit into the minidump's thread list: its readers accept 4,096.
  public var threadsUnlisted: UInt64?
  /// The number of modules that do not fit into the minidump's module list (its readers read 2,048), or that are
  /// empty or overlap another module.
  public var modulesUnlisted: UInt64?
  /// The number of memory regions that do not fit into the minidump's memory list: its readers accept 4,096 regions,
  /// and the list can contain 3 GiB.
  public var regionsUnlisted: UInt64?

  public init() {}

  /// The parts that `/proc` did not show.
  package var partsNotShown: [NotShown] {
    NotShown.allCases.filter { (notShown ?? 0) & $0.bit != 0 }
  }
}

extension CaptureQuality {
  package static let mapFields = MapFields(
    CaptureQuality(),
    [
      .optional(.threadsFound, \.threadsFound),
      .optional(.threadsStopped, \.threadsStopped),
      .optional(.threadsReadFromKernel, \.threadsReadFromKernel),
      .optional(.threadsOmitted, \.threadsOmitted),
      // The bits are read as single numbers, because JSON readers can lose bit 63 of an integer.
      Field.optional(.sectionsAbandoned, \.sectionsAbandoned).showing { capture in
        capture.sectionsAbandoned.map { .address(Address($0)) }
      },
      Field.optional(.notShown, \.notShown).showing { .lines($0.partsNotShown.map(\.name)) },
      .optional(.captureTime, \.captureTime),
      .optional(.bytesOmitted, \.bytesOmitted),
      .optional(.threadsUnlisted, \.threadsUnlisted),
      .optional(.modulesUnlisted, \.modulesUnlisted),
      .optional(.regionsUnlisted, \.regionsUnlisted),
      // The handler's own key is read into the next two.
      Field(.writerError, [.signed], size: 4) { map, capture in
        guard let error = map.signed(.writerError), error != 0 else { return false }
        capture.isComplete = false
        capture.damage = "the handler could not write everything (errno \(error))"
        return true
      } write: { _, _ in
      },
      Field(.isIncomplete, [.unsigned], size: 1) { map, capture in
        guard let flag = map.unsigned(.isIncomplete) else { return false }
        capture.isComplete = flag == 0
        return true
      } write: { capture, writer in
        writer.unsigned(.isIncomplete, capture.isComplete ? 0 : 1, width: 1)
      },
      .optional(.damage, \.damage),
    ])
}
