/// A thread's stack pointer and instruction pointer, from the text of the file `/proc/<pid>/task/<tid>/syscall`; both
/// are 0 for a running thread, or if the text is empty.
///
/// RUNS-DURING-CRASH. Source: proc_pid_syscall(5).
struct SystemCallPlace {
  let stackPointer: UInt64
  let instructionPointer: UInt64

  @_noLocks
  init(_ text: TextScanner) {
    var scanner = text
    // The text is "-1 sp pc" for a thread that is blocked outside a system call. For a thread in a system call, the
    // text consists of the call's number, six arguments, sp and pc. For a running thread, the text is "running".
    scanner.skipWords(scanner.matches("-1") ? 1 : 7)
    stackPointer = scanner.hexadecimal()
    scanner.skipBlanks()
    instructionPointer = scanner.hexadecimal()
  }
}
