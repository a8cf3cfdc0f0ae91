/// How a child ended: the complete wait status of waitpid(2).
public struct ChildEnd: Hashable, Sendable, CustomStringConvertible {
  public let status: Int32

  public init(status: Int32) { self.status = status }

  /// The signal that killed it.
  public var signal: Int32? { status & 0x7f == 0 ? nil : status & 0x7f }

  /// The low 8 bits of its exit code; nil if a signal killed it.
  public var exitCode: Int32? { signal == nil ? status >> 8 & 0xff : nil }

  /// True if the kernel wrote a core file.
  public var dumpedCore: Bool { status & 0x80 != 0 }

  public var description: String {
    if let signal { return "signal \(signal)\(dumpedCore ? " with a core file" : "")" }
    return "exit code \(status >> 8 & 0xff)"
  }
}
