package import IntermediateDump

/// How complete a dump is: counts of what the handler captured and left out.
public struct CaptureQuality: Sendable, Equatable {
  /// True for a complete dump; false for a truncated one.
  public var isComplete = false
  /// Why the dump is not complete, for example where and why it ends.
  public var damage: String?

  /// Records that a dump is truncated because the kernel killed the process for lack of memory while the dump was
  /// written.
  package mutating func noteMemoryKill(isCertain: Bool) {
    let kill =
      "the kernel \(isCertain ? "" : "probably ")killed the process because memory ran out during the capture"
    damage = damage.map { "\($0); \(kill)" } ?? kill
  }
  public var threadsFound: UInt64?
  public var threadsStopped: UInt64?
  /// The number of threads that did not stop, but whose stack pointer and instruction pointer the kernel showed.
  public var threadsReadFromKernel: UInt64?
  /// The number of threads about which the dump contains nothing.
  public var threadsOmitted: UInt64?
  /// The sections of the dump that were left out or ended early because the handler faulted or ran out of time; bit n
  /// stands for the section with the number n in Docs/Internals/IntermediateDumpFormat.md.
  public var sectionsAbandoned: UInt64?
  /// Bits for the parts that the handler could not read from `/proc`: bit 0 for the mappings, bit 1 for the threads,
  /// bit 2 for the open descriptors.
  ///
  /// For example, a seccomp filter can forbid reading these parts.
  ///
  /// A part that could not be read is unknown, not empty. `notShown` is nil if the handler could read all parts.
  public var notShown: UInt64?
  /// The time in nanoseconds from the handler's entry until it wrote the `capture` map, which contains this number.
  public var captureTime: UInt64?
  /// The number of bytes that were left out because of the limit on the dump's size.
  public var bytesOmitted: UInt64?
  /// The number of modules for which the handler's table had no room.
  public var modulesOmitted: UInt64?
  /// The number of threads that do not fit into the minidump's thread list.
  ///
  /// Readers accept a list of at most 4,096 threads.
  public var threadsUnlisted: UInt64?
  /// The number of modules that are not in the minidump's module list.
  ///
  /// The list lacks empty modules, modules that reach the end of the address space, and modules that start at the same
  /// address as another one. If more than 2,048 modules are left, it also lacks the rest, because readers accept no
  /// more. The modules of `modulesOmitted` are counted, too.
  public var modulesUnlisted: UInt64?
  /// The number of memory regions that do not fit into the minidump's memory list.
  ///
  /// Readers accept at most 4,096 regions, and the regions in the list can contain at most 3 GiB in total.
  public var regionsUnlisted: UInt64?
  /// True for a report that was made from a core file and not from the handler's dump.
  public var isCoreFile = false

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
      // Reports show the bits like an address, as hexadecimal text, because JSON readers can lose bits of a 64-bit
      // integer.
      Field.optional(.sectionsAbandoned, \.sectionsAbandoned).showing { capture in
        capture.sectionsAbandoned.map { .address(Address($0)) }
      },
      Field.optional(.notShown, \.notShown).showing { .lines($0.partsNotShown.map(\.name)) },
      .optional(.captureTime, \.captureTime),
      .optional(.bytesOmitted, \.bytesOmitted),
      .optional(.modulesOmitted, \.modulesOmitted),
      .optional(.threadsUnlisted, \.threadsUnlisted),
      .optional(.modulesUnlisted, \.modulesUnlisted),
      .optional(.regionsUnlisted, \.regionsUnlisted),
      .flag(.isCoreFile, \.isCoreFile),
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
