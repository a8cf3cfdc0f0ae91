internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// A FIFO whose read end a converter keeps open while it has claimed dumps.
///
/// If the FIFO has no reader or is removed, processes in any PID namespace know that the claims are no longer valid.
///
/// A program may close the FIFO during a conversion, for example with close_range(2). Another converter then also
/// takes the dump, but the database keeps only one of the two reports. So a FIFO without a reader is enough
/// evidence that a converter is dead, but not that the owner of a locked file is dead.
package final class ClaimWitness {
  /// The part of a converter's FIFO name before the `@`.
  static let identifier = "converter"

  private var number: UInt64?
  /// A copy of the directory's descriptor, and the read end of the FIFO; -1 until the FIFO is created.
  private var directoryDescriptor: Int32 = -1
  private var descriptor: Int32 = -1

  package init() {}

  deinit {
    guard descriptor >= 0, let number else { return }
    unsafe unlinkat(directoryDescriptor, Self.name(number), 0)
    close(directoryDescriptor)
    close(descriptor)
  }

  /// Returns the part of a claim's name that identifies the FIFO and the calling thread; nil if no FIFO can be created
  /// or the boot is not known.
  ///
  /// The first call creates the FIFO.
  ///
  /// - Parameter directory: the descriptor of the pending directory.
  package func witness(in directory: Int32, host: HostIdentity) -> PendingDumpName.Witness? {
    if number == nil { make(in: directory) }
    guard descriptor >= 0, let number, host.boot != 0 else { return nil }
    return PendingDumpName.Witness(
      boot: host.boot, number: number, thread: UInt32(bitPattern: pm_gettid()))
  }

  private func make(in directory: Int32) {
    // Between mkfifoat and openat, another converter may see that the FIFO has no reader, and remove it. The loop
    // then tries a new name.
    for _ in 0..<8 {
      let candidate = UInt64.random(in: 1 ... .max)
      number = candidate
      let name = Self.name(candidate)
      guard unsafe mkfifoat(directory, name, 0o600) == 0 else {
        if errno == EEXIST { continue }
        // A file system without FIFOs may have created a file of another kind, which is removed here.
        unsafe unlinkat(directory, name, 0)
        return
      }
      let opened = unsafe openat(directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
      var (own, named) = (stat(), stat())
      if opened >= 0, unsafe fstat(opened, &own) == 0,
        unsafe fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0,
        own.st_dev == named.st_dev, own.st_ino == named.st_ino
      {
        var above = stat()
        if unsafe fstat(directory, &above) == 0 {
          _ = fchmod(opened, DatabaseDirectory.fileMode(in: above))
        }
        directoryDescriptor = fcntl(directory, F_DUPFD_CLOEXEC, 0)
        if directoryDescriptor >= 0 {
          descriptor = opened
          return
        }
      }
      if opened >= 0 { close(opened) }
      unsafe unlinkat(directory, name, 0)
    }
  }

  /// Examines the FIFO that a claim names.
  package static func probe(_ number: UInt64, in directory: Int32) -> FIFOProbe {
    FIFOProbe.look(at: name(number), in: directory)
  }

  /// True for the name of a converter's FIFO that has no reader or no longer exists.
  package static func isAbandoned(_ name: PendingDumpName, in directory: Int32) -> Bool {
    guard name.role == .fifo, name.identifier == identifier,
      name.reportID.bytes.suffix(8) == Self.tail[...]
    else { return false }
    return [.noReader, .missing].contains(FIFOProbe.look(at: name.description, in: directory))
  }

  /// The last eight bytes of the UUID in the name of each converter's FIFO.
  ///
  /// These bytes distinguish such a FIFO from other files: a random report ID ends with them with a probability of 1 in
  /// 2^62.
  private static let tail: [UInt8] = [0x80, 0, 0, 0, 0, 0, 0, 0]

  private static func name(_ number: UInt64) -> String {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } + tail
    let name = ReportID(bytes: bytes).flatMap {
      PendingDumpName(identifier: identifier, reportID: $0, role: .fifo)
    }
    return name?.description ?? ""
  }
}
