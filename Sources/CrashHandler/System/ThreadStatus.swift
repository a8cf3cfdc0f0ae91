internal import CSignalSafe

/// Reads what the kernel tells of a thread, by way of the second half of scratch memory.
///
/// RUNS-DURING-CRASH. Source: proc_pid_stat(5), proc_pid_status(5), proc_pid_syscall(5).
@safe
struct ThreadStatus {
  private let proc: ProcReader
  private let tasks: ProcReader
  private let scratch: Scratch

  /// - Parameter tasks: an open `/proc/self/task`, by which a file is opened faster; -1 for none.
  @_noLocks
  init(_ proc: ProcReader, tasks: Int32 = -1, scratch: Scratch) {
    self.proc = proc
    self.tasks = ProcReader(proc: tasks)
    self.scratch = scratch.secondHalf
  }

  /// Reads name, state, scheduling, and which of the signals below 32 are blocked: three system
  /// calls, half the time of the status file.
  ///
  /// - Returns: false if the thread has ended. One whose line cannot be read is not known to have.
  @_noLocks
  func read(_ record: ThreadRecord) -> Bool {
    let count = readFile("/stat", of: record.threadID)
    guard count > 0, let line = ThreadLine(scratch.bytes(count: count)) else {
      return count != -Int(ENOENT) && count != -Int(ESRCH) || proc.isMissing
    }
    record.set(line)
    return true
  }

  /// The stat file's line, in scratch memory; nil if it cannot be read.
  @_noLocks
  func line(of threadID: Int32) -> ThreadLine? {
    let count = readFile("/stat", of: threadID)
    return count > 0 ? ThreadLine(scratch.bytes(count: count)) : nil
  }

  /// Reads a file of a thread into scratch memory; returns its bytes, or -errno.
  @inline(never)
  private func readFile(_ name: StaticString, of threadID: Int32) -> Int {
    var path = unsafe TextBuffer(scratch.address, capacity: scratch.size)
    if tasks.isMissing { path.append("self/task/") }
    path.append(decimal: Int64(threadID))
    path.append(name)
    return (tasks.isMissing ? proc : tasks).attempt(over: path)
  }

  /// Reads all signals that the thread blocks.
  @_noLocks
  func readBlockedSignals(_ record: ThreadRecord) {
    let count = readFile("/status", of: record.threadID)
    var scanner = scratch.text(count: count > 0 ? count : 0)
    guard scanner.find("SigBlk:") else { return }
    record.fields.blockedSignals = scanner.hexadecimal()
    record.fields.knowsAllSignals = true
  }

  /// Reads the system call that a blocked thread waits in; once it has been asked to stop, it would
  /// be one of our handler.
  @_noLocks
  func readSystemCall(_ record: ThreadRecord) {
    let count = readFile("/syscall", of: record.threadID)
    let text = scratch.text(count: count > 0 ? count : 0)
    record.setSystemCall(text.matches("running") ? text.line.prefix(0) : text.line)
  }
}

/// The stack and instruction pointers in a text of proc_pid_syscall(5); 0 for a thread that runs.
///
/// RUNS-DURING-CRASH.
struct SystemCallPlace {
  let stackPointer: UInt64
  let instructionPointer: UInt64

  @_noLocks
  init(_ text: TextScanner) {
    var scanner = text
    // "-1 sp pc" for a thread blocked outside a system call, else number, six arguments, sp, pc.
    scanner.skipWords(scanner.matches("-1") ? 1 : 7)
    stackPointer = scanner.hexadecimal()
    scanner.skipBlanks()
    instructionPointer = scanner.hexadecimal()
  }
}

/// The line of proc_pid_stat(5), as far as a dump has it.
///
/// RUNS-DURING-CRASH.
struct ThreadLine {
  /// As the thread set it, with any byte in it.
  let name: Bytes
  private(set) var stateLetter: UInt8 = 0
  private(set) var niceValue: Int8 = 0
  private(set) var schedulingPolicy: UInt8 = 0
  /// Those below 32; bit n - 1 stands for signal n.
  private(set) var blockedSignals: UInt64 = 0

  /// - Returns: nil for a text that is no such line.
  @_noLocks
  init?(_ text: Bytes) {
    // The name is in parentheses and may hold some itself; nothing behind it does.
    var start = 0
    while start < text.count, text[start] != 0x28 { start &+= 1 }
    var end = text.count &- 1
    while end > start, text[end] != 0x29 { end &-= 1 }
    guard end > start else { return nil }
    name = text.dropFirst(start &+ 1).prefix(end &- start &- 1)
    var scanner = text.dropFirst(end &+ 1).text
    var field = 3
    while field <= 41, !scanner.isAtEnd {
      scanner.skipBlanks()
      switch field {
      case 3: stateLetter = scanner.current
      case 19:
        let isNegative = scanner.current == 0x2D
        scanner.skip(0x2D)
        let value = Int8(truncatingIfNeeded: scanner.decimal())
        niceValue = isNegative ? 0 &- value : value
      case 32: blockedSignals = scanner.decimal()
      // Bit 30 of the kernel's number, SCHED_RESET_ON_FORK, is not in it.
      case 41: schedulingPolicy = UInt8(truncatingIfNeeded: scanner.decimal())
      default: break
      }
      scanner.skipWord()
      field &+= 1
    }
  }

  /// Copies the name as proc_pid_status(5) writes it: a line feed as `\n`, a backslash as `\\`.
  ///
  /// - Returns: bytes copied, at most `capacity`.
  @inline(never) @_noLocks
  static func copyName(
    _ name: Bytes, to place: UnsafeMutableRawPointer, capacity: Int
  ) -> Int {
    var filled = 0
    var index = 0
    while index < name.count, filled < capacity &- 1 {
      var byte = name[index]
      if byte == 0x0A || byte == 0x5C {
        unsafe place.storeBytes(of: 0x5C, toByteOffset: filled, as: UInt8.self)
        filled &+= 1
        if byte == 0x0A { byte = 0x6E }
      }
      unsafe place.storeBytes(of: byte, toByteOffset: filled, as: UInt8.self)
      filled &+= 1
      index &+= 1
    }
    return filled
  }
}
