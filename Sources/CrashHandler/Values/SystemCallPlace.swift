/// The stack and instruction pointers in a text of proc_pid_syscall(5); 0 for a thread that runs.
///
/// RUNS-DURING-CRASH.
struct SystemCallPlace {
  let stackPointer: UInt64
  let instructionPointer: UInt64

  @_noLocks
  init(_ text: TextScanner) {
    var scanner = text
    // "-1 sp pc" for a thread blocked outside a system call, otherwise number, six arguments, sp, pc.
    scanner.skipWords(scanner.matches("-1") ? 1 : 7)
    stackPointer = scanner.hexadecimal()
    scanner.skipBlanks()
    instructionPointer = scanner.hexadecimal()
  }
}
