package import IntermediateDump

/// The name of a file in the pending directory.
///
/// The name states the program that wrote the file, the report's ID, and whether the file's owner or a converter may
/// change the file.
///
/// A dump is `<identifier>@<uuid>.locked` while its owner may still write, and has no suffix once it is finished.
/// While a converter works on a dump, the name is `<identifier>@<uuid>.<attempt>-<pid>-<start
/// time>-<place>-<boot>-<FIFO>-<tid>.claimed`. A converter without a FIFO leaves out the last three fields, and the
/// last field is left out if the thread is not known. The dump of a hang is `<identifier>@<uuid>.hang` while the hang
/// lasts. A locked file and a hang's dump have their owner's run record (`.run`) and FIFO (`.fifo`) next to them. The
/// name's suffix is the only lock on a dump; this package uses no kernel locks.
package struct PendingDumpName: Sendable, Hashable, CustomStringConvertible {
  /// The directory below the database that holds pending dumps.
  package static let directory = "pending-serialized-dumps"
  /// The directory below the database for dumps whose conversion keeps failing.
  package static let quarantineDirectory = "quarantine"

  /// The role of a file, as shown by the part of its name after the UUID.
  package enum Role: Sendable, Hashable {
    case finished
    case locked
    /// A converter has claimed the dump. Attempts are numbered from 1. Process ID and start time (in clock ticks) are
    /// those of the converter. The place is a digest of the boot, the PID namespace and the time namespace in which
    /// the process ID and the start time are valid; 0 if the place is not known.
    ///
    /// The process ID 0 means that the converter gave the dump back after `attempt` failed attempts. If the
    /// converter's process cannot be examined, the witness (a FIFO) shows whether the converter is alive. The witness
    /// is nil if the converter has no FIFO.
    case claimed(
      attempt: UInt32, processID: UInt32, startTime: UInt64, place: UInt32,
      witness: Witness? = nil)
    case runRecord
    case fifo
    /// A complete dump of a hang in progress.
    ///
    /// The process that hung removes this dump when the hang ends, or renames it if its report is wanted anyway;
    /// other processes treat the dump like a locked file. The dump of a hang has its own FIFO and run record.
    case hang
  }

  /// A converter's FIFO, which shows other processes that the converter is alive.
  package struct Witness: Sendable, Hashable {
    /// A digest of the ID of the boot in which the FIFO was created; never 0.
    package let boot: UInt32
    /// The number in the FIFO's name, which contains it in the form of a UUID.
    package let number: UInt64
    /// The thread that works on the dump; 0 if it is not known.
    package let thread: UInt32

    package init(boot: UInt32, number: UInt64, thread: UInt32 = 0) {
      self.boot = boot
      self.number = number
      self.thread = thread
    }
  }

  /// The program's identifier: 1 to 128 characters of `[A-Za-z0-9._-]`.
  package let identifier: String
  package let reportID: ReportID
  package private(set) var role: Role

  /// Creates a name; nil for an identifier that `isValidIdentifier` refuses.
  package init?(identifier: String, reportID: ReportID, role: Role) {
    guard Self.isValidIdentifier(identifier) else { return nil }
    self.identifier = identifier
    self.reportID = reportID
    self.role = role
  }

  /// Parses a file name; nil for a name that this type would not write.
  package init?(fileName: String) {
    guard let separator = fileName.lastIndex(of: "@") else { return nil }
    let rest = fileName[fileName.index(after: separator)...]
    let reportText = rest.prefix(36)
    guard let reportID = ReportID(String(reportText)),
      let role = Self.role(suffix: rest.dropFirst(36))
    else { return nil }
    self.init(identifier: String(fileName[..<separator]), reportID: reportID, role: role)
    // A name with uppercase digits or leading zeros is refused. It could be parsed, but `description` would then
    // return a different name, under which no file exists.
    guard self.description == fileName else { return nil }
  }

  /// The name of the same dump in another role.
  package func with(role: Role) -> PendingDumpName {
    var name = self
    name.role = role
    return name
  }

  /// The file name.
  package var description: String {
    let suffix =
      switch role {
      case .finished: ""
      case .locked: ".locked"
      case .claimed(let attempt, let processID, let startTime, let place, let witness):
        ".\(attempt)-\(processID)-\(startTime)-\(String(place, radix: 16))"
          + (witness.map {
            "-\(String($0.boot, radix: 16))-\(String($0.number, radix: 16))"
              + ($0.thread == 0 ? "" : "-\($0.thread)")
          } ?? "") + ".claimed"
      case .runRecord: ".run"
      case .fifo: ".fifo"
      case .hang: ".hang"
      }
    return identifier + "@" + reportID.description + suffix
  }

  private static func role(suffix: Substring) -> Role? {
    switch suffix {
    case "": return .finished
    case ".locked": return .locked
    case ".run": return .runRecord
    case ".fifo": return .fifo
    case ".hang": return .hang
    default:
      guard suffix.hasPrefix("."), suffix.hasSuffix(".claimed") else { return nil }
      let parts = suffix.dropFirst().dropLast(8).split(
        separator: "-", omittingEmptySubsequences: false)
      guard [4, 6, 7].contains(parts.count), let attempt = UInt32(digits: parts[0]),
        let processID = UInt32(digits: parts[1]), let startTime = UInt64(digits: parts[2]),
        let place = UInt32(digits: parts[3], radix: 16)
      else { return nil }
      var witness: Witness?
      if parts.count > 4 {
        guard let boot = UInt32(digits: parts[4], radix: 16),
          let number = UInt64(digits: parts[5], radix: 16),
          let thread = parts.count == 7 ? UInt32(digits: parts[6]) : 0
        else { return nil }
        witness = Witness(boot: boot, number: number, thread: thread)
      }
      return .claimed(
        attempt: attempt, processID: processID, startTime: startTime, place: place,
        witness: witness)
    }
  }

  /// True for 1 to 128 characters of `[A-Za-z0-9._-]` that are not only dots.
  package static func isValidIdentifier(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count) && text.utf8.allSatisfy(isAllowed)
      && text.utf8.contains { $0 != UInt8(ascii: ".") }
  }

  /// Reduces any text to a valid identifier.
  ///
  /// The text is cut to 128 bytes, and "-" replaces each byte that an identifier may not contain. If the reduced text
  /// is not a valid identifier either, for example because it is empty, the result is "program".
  package static func identifier(reducing text: String) -> String {
    var bytes = Array(text.utf8.prefix(128))
    for index in bytes.indices where !isAllowed(bytes[index]) { bytes[index] = UInt8(ascii: "-") }
    let reduced = String(decoding: bytes, as: UTF8.self)
    return isValidIdentifier(reduced) ? reduced : "program"
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
