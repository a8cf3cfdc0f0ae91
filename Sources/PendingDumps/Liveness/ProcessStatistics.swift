internal import Glibc
internal import IntermediateDump

/// Fields of `/proc/<pid>/stat` that show whether a process has ended, and distinguish it from a later process with the
/// same ID.
///
/// Source: proc_pid_stat(5), fields 3, 20, 22, 28 and 52; of the calling process 1, 7, 24, 48 and 49 too.
package struct ProcessStatistics: Sendable, Equatable {
  package var state: UInt8
  package var threadCount: Int64
  /// The start time in clock ticks after boot.
  package var startTime: UInt64
  /// The start of the main thread's stack, which an exec changes; 0 if the kernel does not show it.
  package var stackStart: UInt64
  /// The wait status of a zombie: a process that has ended, and that its parent has not reaped yet.
  ///
  /// The value means nothing for a process that is not a zombie. If the kernel does not show the status to this user,
  /// the value is 0.
  package var waitStatus: Int32?
  /// More fields, which are used only for the calling process.
  package var own = Own()

  /// Fields that are used only for the calling process; 0 for a field that the kernel does not show.
  package struct Own: Sendable, Equatable {
    /// The process ID in the PID namespace of `/proc`.
    package var processID: UInt32 = 0
    /// The device number of the controlling terminal; 0 if there is none.
    package var terminal: Int32 = 0
    /// The number of the process's pages that are in memory.
    package var residentPages: UInt64 = 0
    /// The start and the end of the arguments on the main thread's stack; a NUL ends each argument.
    package var argumentsStart: UInt64 = 0
    package var argumentsEnd: UInt64 = 0

    package init() {}
  }

  package init(state: UInt8, threadCount: Int64, startTime: UInt64, stackStart: UInt64) {
    self.state = state
    self.threadCount = threadCount
    self.startTime = startTime
    self.stackStart = stackStart
  }

  /// Parses the text of a process's `stat` file in `/proc`; nil if it has another format.
  package init?(statText text: [UInt8]) {
    // Field 2, the name, may contain blanks and parentheses; later fields do not contain parentheses.
    guard let nameEnd = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    var (state, threadCount, startTime, stackStart) = (
      UInt8?.none, Int64?.none, UInt64?.none, UInt64?.none
    )
    var waitStatus: Int32?
    var own = Own()
    own.processID = Self.number(text.prefix { $0 != UInt8(ascii: " ") }) ?? 0
    var (index, start) = (0, nameEnd + 1)
    // A blank ends each field, except the last one, which a line feed ends.
    while index <= 49, start < text.count {
      var end = start
      while end < text.count, text[end] > UInt8(ascii: " ") { end += 1 }
      if end > start {
        let field = text[start..<end]
        switch index {
        case 0: state = field.count == 1 ? field.first : nil
        case 4: own.terminal = Self.number(field) ?? 0
        case 17: threadCount = Self.number(field)
        case 19: startTime = Self.number(field)
        case 21: own.residentPages = Self.number(field) ?? 0
        case 25: stackStart = Self.number(field)
        case 45: own.argumentsStart = Self.number(field) ?? 0
        case 46: own.argumentsEnd = Self.number(field) ?? 0
        case 49: waitStatus = Self.number(field)
        default: break
        }
        index += 1
      }
      start = end + 1
    }
    guard let state, let threadCount, let startTime, let stackStart else { return nil }
    self.init(
      state: state, threadCount: threadCount, startTime: startTime, stackStart: stackStart)
    self.waitStatus = waitStatus
    self.own = own
  }

  /// Reads the statistics of the calling process; nil without `/proc`.
  package static func current() -> ProcessStatistics? {
    var found = read("/proc/self")
    if found?.stackStart == 0 {
      found?.stackStart = read("/proc/thread-self")?.stackStart ?? 0
    }
    return found
  }

  /// Reads the statistics of a process or thread from its directory in `/proc`.
  fileprivate static func read(_ directory: String) -> ProcessStatistics? {
    SystemFile.bytes(directory + "/stat", isOneRecord: true)
      .flatMap(ProcessStatistics.init(statText:))
  }

  private static func number<Value: FixedWidthInteger>(_ digits: ArraySlice<UInt8>) -> Value? {
    numberOfDigits(digits, radix: 10).flatMap(Value.init(exactly:))
  }

  /// True for a process that has ended and exists only until its parent waits for it.
  ///
  /// The kernel shows the same state letter for a process whose main thread has called `pthread_exit`, as
  /// `dispatchMain` does, while other threads continue. So a process in this state has ended only if it has at most one
  /// thread.
  package var hasEnded: Bool {
    switch state {
    case UInt8(ascii: "Z"): threadCount <= 1
    case UInt8(ascii: "X"), UInt8(ascii: "x"): true
    default: false
    }
  }
}

/// The result of looking for a process by its ID.
package enum ProcessProbe: Sendable, Equatable {
  /// No process has this ID.
  case missing
  /// A process may have this ID, but `/proc` does not show such a process.
  case unreadable
  case found(ProcessStatistics)

  /// Examines a process in this PID namespace.
  package static func look(at processID: UInt32) -> ProcessProbe {
    guard let processID = pid_t(exactly: processID), processID > 0 else { return .unreadable }
    if var statistics = ProcessStatistics.read("/proc/\(processID)") {
      if statistics.stackStart == 0, !statistics.hasEnded {
        let thread = ProcessStatistics.read(livingThread(of: processID, statistics))
        statistics.stackStart = thread?.stackStart ?? 0
      }
      return .found(statistics)
    }
    // A mount option can hide other users' processes in /proc, so kill(2) decides whether the process exists.
    return kill(processID, 0) != 0 && errno == ESRCH ? .missing : .unreadable
  }

  /// The directory in `/proc` that shows a process's descriptors, memory and namespaces.
  ///
  /// This is the directory of the process itself or, if the first thread has ended, of a thread that still runs.
  package static func directory(of processID: Int32) -> String {
    livingThread(of: processID, ProcessStatistics.read("/proc/\(processID)"))
  }

  private static func livingThread(
    of processID: Int32, _ statistics: ProcessStatistics?
  ) -> String {
    let process = "/proc/\(processID)"
    guard statistics?.state == UInt8(ascii: "Z"), statistics?.hasEnded == false else {
      return process
    }
    let tasks = unsafe open(process + "/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard tasks >= 0 else { return process }
    defer { close(tasks) }
    let threads = (DirectoryNames.of(tasks) ?? []).lazy.map { "\(process)/task/\($0)" }
    return threads.first { thread in
      guard let found = ProcessStatistics.read(thread) else { return false }
      return ![UInt8(ascii: "Z"), UInt8(ascii: "X")].contains(found.state)
    } ?? process
  }
}
