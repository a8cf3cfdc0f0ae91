/// A limit that setrlimit(2) knows.
public struct ResourceLimit: Sendable, Equatable {
  /// What the process may use; nil for no limit.
  public var soft: UInt64?
  /// How far the process itself may raise the soft limit; nil for no limit.
  public var hard: UInt64?

  public init(soft: UInt64?, hard: UInt64?) {
    self.soft = soft
    self.hard = hard
  }
}

/// The limits of a process that explain crashes; nil where the text does not tell.
public struct ResourceLimits: Sendable, Equatable {
  /// RLIMIT_NOFILE: one more than the highest descriptor.
  public var openFiles: ResourceLimit?
  /// RLIMIT_STACK, in bytes.
  public var stackSize: ResourceLimit?
  /// RLIMIT_AS, in bytes.
  public var addressSpace: ResourceLimit?
  /// RLIMIT_NPROC: processes and threads of the real user, of all programs together.
  public var tasks: ResourceLimit?

  /// Parses the text of `/proc/<pid>/limits`.
  ///
  /// Total on any bytes: a line that is not one of the kernel's is left out. Source:
  /// proc_pid_limits(5); Linux fs/proc/base.c, proc_pid_limits().
  ///
  /// - Parameter text: a heading, then a line a limit: name, soft limit, hard limit, units.
  public init(parsing text: ArraySlice<UInt8>) {
    for line in text.split(separator: UInt8(ascii: "\n")) {
      openFiles = openFiles ?? Self.limit("Max open files ", in: line)
      stackSize = stackSize ?? Self.limit("Max stack size ", in: line)
      tasks = tasks ?? Self.limit("Max processes ", in: line)
      addressSpace = addressSpace ?? Self.limit("Max address space ", in: line)
    }
  }

  private static func limit(_ name: String, in line: ArraySlice<UInt8>) -> ResourceLimit? {
    guard line.starts(with: name.utf8) else { return nil }
    let words = line.dropFirst(name.utf8.count).split(separator: UInt8(ascii: " "))
    guard words.count >= 2 else { return nil }
    var values: [UInt64?] = []
    for word in words.prefix(2) {
      let text = String(decoding: word, as: UTF8.self)
      if text == "unlimited" {
        values.append(nil)
      } else if let value = UInt64(text) {
        values.append(value)
      } else {
        return nil
      }
    }
    return ResourceLimit(soft: values[0], hard: values[1])
  }
}
