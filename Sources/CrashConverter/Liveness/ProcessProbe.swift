internal import Glibc

/// What can be learned about a process by its ID.
enum ProcessProbe: Sendable, Equatable {
  /// No process has this ID.
  case missing
  /// One has, but `/proc` does not tell more of it.
  case unreadable
  case found(ProcessStatistics)

  /// Looks at a process of this PID namespace.
  static func look(at processID: UInt32) -> ProcessProbe {
    guard let processID = pid_t(exactly: processID), processID > 0 else { return .unreadable }
    if let text = ProcFile.contents("/proc/\(processID)/stat") {
      guard let statistics = ProcessStatistics(statText: text) else { return .unreadable }
      return .found(statistics)
    }
    // A mount option can hide other users' processes in /proc; the kernel still knows them.
    return kill(processID, 0) != 0 && errno == ESRCH ? .missing : .unreadable
  }
}

/// The fields of `/proc/<pid>/stat` that tell one process from the next of the same ID.
///
/// Source: proc_pid_stat(5), fields 3, 20, 22 and 28.
struct ProcessStatistics: Sendable, Equatable {
  var state: UInt8
  var threadCount: Int64
  /// Clock ticks after boot.
  var startTime: UInt64
  /// Where the main stack starts, another one after exec; 0 where the kernel does not tell.
  var stackStart: UInt64

  init(state: UInt8, threadCount: Int64, startTime: UInt64, stackStart: UInt64) {
    self.state = state
    self.threadCount = threadCount
    self.startTime = startTime
    self.stackStart = stackStart
  }

  /// Reads the file's text; nil if it has another form.
  init?(statText text: [UInt8]) {
    // Field 2, the name, may hold blanks and parentheses; no later field does.
    guard let nameEnd = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = text[text.index(after: nameEnd)...].split(separator: UInt8(ascii: " "))
      .map { String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) }
    guard fields.count > 25, let state = fields[0].utf8.first, fields[0].utf8.count == 1,
      let threadCount = Int64(fields[17]), let startTime = UInt64(fields[19]),
      let stackStart = UInt64(fields[25])
    else { return nil }
    self.init(
      state: state, threadCount: threadCount, startTime: startTime, stackStart: stackStart)
  }

  /// True for a process that has ended and only waits for its parent.
  ///
  /// A main thread that ended by `pthread_exit`, as libdispatch's `dispatchMain` does, shows the
  /// same letter while the other threads live on.
  var hasEnded: Bool {
    switch state {
    case UInt8(ascii: "Z"): threadCount <= 1
    case UInt8(ascii: "X"), UInt8(ascii: "x"): true
    default: false
    }
  }
}
