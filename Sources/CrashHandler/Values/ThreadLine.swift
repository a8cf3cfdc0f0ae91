/// The fields that dumps and run records need from the `stat` line of a thread or process (proc_pid_stat(5)).
///
/// RUNS-DURING-CRASH.
struct ThreadLine {
  /// The thread's name, which may contain any byte.
  let name: Bytes
  private(set) var stateLetter: UInt8 = 0
  private(set) var niceValue: Int8 = 0
  private(set) var schedulingPolicy: UInt8 = 0
  /// The signals below 32 that the thread blocks; bit n - 1 stands for signal n.
  private(set) var blockedSignals: UInt64 = 0
  /// The start time in clock ticks after boot.
  private(set) var startTime: UInt64 = 0
  /// The start address of the main thread's stack; 0 if the kernel does not show it.
  private(set) var stackStart: UInt64 = 0

  /// - Returns: nil if the text has no name in parentheses. A field that is missing from the text is 0.
  @_noLocks
  init?(_ text: Bytes) {
    // The name is in parentheses, and may itself contain parentheses. The fields after the name contain no parentheses,
    // so the last `)` of the text ends the name.
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
      case 22: startTime = scanner.decimal()
      case 28: stackStart = scanner.decimal()
      case 32: blockedSignals = scanner.decimal()
      // The numbers of the policies are below 8 (sched(7)), so truncation to 8 bits does not change them.
      case 41: schedulingPolicy = UInt8(truncatingIfNeeded: scanner.decimal())
      default: break
      }
      scanner.skipWord()
      field &+= 1
    }
  }
}
