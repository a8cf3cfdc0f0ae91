/// The numbers of a process's user or group.
public struct UserIDs: Sendable, Equatable {
  /// Of whoever started the process.
  public var real: UInt32
  /// By which its rights are judged.
  public var effective: UInt32

  public init(real: UInt32, effective: UInt32) {
    self.real = real
    self.effective = effective
  }
}

extension ProcessDescription {
  /// The numbers of its user, of `statusText`; nil where that does not have them.
  ///
  /// Source: proc_pid_status(5), Uid.
  public var userIDs: UserIDs? { identifiers("Uid:") }

  /// The same of its group.
  public var groupIDs: UserIDs? { identifiers("Gid:") }

  private func identifiers(_ label: String) -> UserIDs? {
    let line = statusText?.split(separator: UInt8(ascii: "\n"))
      .first { $0.starts(with: label.utf8) }
    let numbers = line?.dropFirst(label.utf8.count).split { $0 == 0x20 || $0 == 0x09 }
      .prefix(2).compactMap { UInt32(String(decoding: $0, as: UTF8.self)) }
    guard let numbers, numbers.count == 2 else { return nil }
    return UserIDs(real: numbers[0], effective: numbers[1])
  }
}
