internal import IntermediateDump

/// One throw of a Swift error, with the callers of the throwing function.
public struct ThrowSnapshot: Sendable, Equatable {
  /// The kernel's ID of the thread that threw the error.
  public var threadID: UInt32
  /// The time of the throw, in nanoseconds of CLOCK_BOOTTIME.
  public var uptime: UInt64
  /// The address of the box that holds the error; nil for a typed throw, and in a sanitized report.
  public var error: Address?
  /// Return addresses on the throwing thread's stack, innermost first.
  public var addresses: [Address]

  public init(threadID: UInt32, uptime: UInt64, error: Address? = nil, addresses: [Address]) {
    self.threadID = threadID
    self.uptime = uptime
    self.error = error
    self.addresses = addresses
  }
}

extension ProcessSnapshot {
  /// The maximum number of words of the crashing thread's stack that are searched for the box of an error.
  private static var wordLimit: Int { 8192 }

  /// The throw of the uncaught error, provided that such an error ended the process; nil if no recorded throw fits.
  ///
  /// This property does not check whether an uncaught error ended the process; the caller must do so.
  ///
  /// An error counts as the one that ended the process if the address of its box is in a register or on the stack of
  /// the crashing thread. Another thread may have thrown this error. If there are several such errors, the one that was
  /// thrown last is used. If that error was thrown more than once, for example by a thread that received it, the result
  /// is its first throw. If no such error is found, the result is the last throw of the crashing thread.
  package var lastThrow: ThrowSnapshot? {
    guard !recordedThrows.isEmpty, let thread = crashedThread else { return nil }
    let newest = recordedThrows.sorted { $0.uptime > $1.uptime }
    let boxes = Set(newest.compactMap(\.error?.value))
    var held = Set(
      (exception?.context ?? thread.context)?.generalRegisters.map(\.value) ?? [])
    for stack in boxes.isEmpty ? [] : thread.stack {
      var place = stack.address
      for _ in 0..<min(Self.wordLimit, stack.count / 8) {
        if let word = memory.word(at: place), boxes.contains(word) { held.insert(word) }
        place = place &+ 8
      }
    }
    guard let last = newest.first(where: { $0.error.map { held.contains($0.value) } ?? false })
    else { return newest.first { $0.threadID == thread.id } }
    // Another thread that received the error may have thrown it again, so the result is the first throw.
    return newest.last { $0.error == last.error }
  }
}

extension ThrowSnapshot {
  static let mapFields = MapFields(
    ThrowSnapshot(threadID: 0, uptime: 0, addresses: []),
    [
      .required(.throwThreadID, \.threadID),
      .required(.throwUptime, \.uptime),
      .optional(.throwError, \.error),
      Field(.throwAddresses, [.bytes]) { map, made in
        guard let data = map.data(.throwAddresses) else { return false }
        made.addresses = stride(from: 0, to: data.count - data.count % 8, by: 8)
          .compactMap { data.littleEndian(at: $0, width: 8).map { Address($0) } }
        return true
      } write: { made, writer in
        var bytes: [UInt8] = []
        for address in made.addresses { bytes.append(littleEndian: address.value) }
        writer.write(.throwAddresses, bytes)
      },
    ])
}
