internal import CrashHandler
internal import Glibc
internal import PendingDumps

/// Checks whether a thread of another process has room for a signal frame.
///
/// If a thread without room gets a signal, the kernel ends the process by SIGSEGV. The check uses the rules that the
/// handler applies to the threads of its own process (`ThreadRoom`), except for the first thread's normal stack. It
/// reads the process's memory to find the alternate stacks that the threads have recorded, and /proc to find the stack
/// pointer of a thread in a system call.
struct SignalRoom: ~Copyable {
  /// How certain it is that a thread has room.
  ///
  /// For example, it is not certain for a running thread without an alternate stack of the handler, because the kernel
  /// does not show the stack pointer of a running thread.
  enum Certainty: Comparable {
    case known
    case likely
  }

  private struct ToldStack {
    let base: UInt64
    let size: UInt64
    let isHandlers: Bool
  }

  // The size of the table of alternate stacks, the size of its entries, and the size in bytes below which a stack
  // counts as small. They must match pm_told_stacks.c and pm_told_stacks.h.
  private static let entryCount = 8192
  private static let entrySize = 24
  private static let smallStack: UInt64 = 28 << 10
  // The bytes of stack that a signal needs: with a free entry stack of the handler, and without one. `ThreadRoom` uses
  // the same values.
  private static let entryNeed = ThreadSignals.frameSize &+ 128 &+ 1024
  private static let handlerNeed = ThreadSignals.frameSize &+ 128 &+ 6144

  private let processID: Int32
  private let memory: Int32
  private let told: [Int32: ToldStack]

  /// Reads the table of the threads' alternate stacks; returns nil if the process's memory cannot be read.
  init?(_ processID: Int32, toldStacks address: UInt64) {
    let memory = unsafe open("/proc/\(processID)/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { return nil }
    let size = Self.entryCount * Self.entrySize
    let table = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let offset = off_t(exactly: address) ?? 0
      count = unsafe max(0, pread(memory, buffer.baseAddress, size, offset))
    }
    guard table.count == size else {
      close(memory)
      return nil
    }
    self.processID = processID
    self.memory = memory
    told = Self.stacks(in: table)
  }

  deinit { close(memory) }

  private static func stacks(in table: [UInt8]) -> [Int32: ToldStack] {
    var stacks: [Int32: ToldStack] = [:]
    unsafe table.withUnsafeBytes { bytes in
      for offset in stride(from: 0, to: table.count, by: entrySize) {
        let thread = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        guard thread != 0, let thread = Int32(exactly: thread) else { continue }
        let size = unsafe bytes.loadUnaligned(fromByteOffset: offset + 16, as: UInt64.self)
        stacks[thread] = ToldStack(
          base: unsafe bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self),
          size: size & (.max >> 1), isHandlers: size >> 63 == 1)
      }
    }
    return stacks
  }

  /// Returns how certain it is that a thread has room; nil if there is no room, or if the alternate stack is small and
  /// the thread's stack pointer is not known.
  func certainty(of thread: ThreadSignals) -> Certainty? {
    // The keys of `told` are thread IDs in the PID namespace of the examined process.
    let stack = told[thread.innermostThreadID]
    if stack?.isHandlers == true { return .known }
    let stackPointer = stackPointer(of: thread.threadID)
    guard let stack, stack.size > 0 else {
      guard let stackPointer else { return .likely }
      if isMapped(below: stackPointer, Self.handlerNeed) { return .known }
      // Memory below the first thread's stack may be unmapped although there is room, because the kernel extends this
      // stack only when the process itself accesses it.
      return thread.threadID == processID ? .likely : nil
    }
    guard let stackPointer else {
      let suffices =
        stack.size >= Self.smallStack && isMapped(below: stack.base &+ stack.size, Self.handlerNeed)
      return suffices ? .likely : nil
    }
    let isOnIt = stackPointer &- stack.base < stack.size
    let top = isOnIt ? stackPointer : stack.base &+ stack.size
    let suffices = top &- stack.base >= Self.entryNeed && isMapped(below: top, Self.entryNeed)
    return suffices ? .known : nil
  }

  /// Returns a thread's stack pointer; nil if the thread is running, or if the kernel does not show it.
  ///
  /// Source: proc_pid_syscall(5).
  private func stackPointer(of thread: Int32) -> UInt64? {
    let text = SystemFile.text("/proc/\(processID)/task/\(thread)/syscall") ?? ""
    let words = text.split(whereSeparator: \.isWhitespace)
    // The text is "running" for a running thread, and "-1 sp pc" for a thread that is blocked outside a system call.
    // For a thread in a system call, the text has the call's number, six arguments, sp and pc.
    guard words.count >= 3, let word = words.dropLast().last else { return nil }
    return UInt64(word.dropFirst(2), radix: 16)
  }

  private func isMapped(below top: UInt64, _ size: UInt64) -> Bool {
    let places = Array(stride(from: 8, to: size, by: 4096)) + [size]
    return places.allSatisfy { distance in
      var byte: UInt8 = 0
      guard let offset = off_t(exactly: top &- distance) else { return false }
      return unsafe pread(memory, &byte, 1, offset) == 1
    }
  }
}
