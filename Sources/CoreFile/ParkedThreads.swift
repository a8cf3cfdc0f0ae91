internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The threads that this package's handler had stopped when the process ended.
///
/// In the core file, these threads are waiting inside the handler. The kernel's signal frame, which is usually on the
/// thread's alternate stack, holds the registers from the moment of the stop. These registers include the stack
/// pointer, at which the thread's stack from before the stop begins.
///
/// Source: Linux `struct rt_sigframe` and `struct ucontext` of arch/x86 and arch/arm64.
struct ParkedThreads {
  /// The maximum number of the handler's frames, from its futex call to the signal frame.
  private static let maximumFrames = 24
  /// The name of the signal handler in which stopped threads wait.
  ///
  /// If the program is stripped, this name is known only if its debug file is found; otherwise no thread is recognized.
  private static let parkingFunction = "pm_handle_stop"

  private let snapshot: ProcessSnapshot
  private let walker: Stackwalker

  init(of snapshot: ProcessSnapshot, _ symbols: SymbolSource) {
    self.snapshot = snapshot
    walker = Stackwalker(snapshot: snapshot, symbols: symbols)
  }

  func add(to snapshot: inout ProcessSnapshot) {
    let crashed = snapshot.exception?.threadID
    for index in snapshot.threads.indices where snapshot.threads[index].id != crashed {
      guard let context = interrupted(snapshot.threads[index]) else { continue }
      snapshot.threads[index].context = context
      snapshot.threads[index].stackPointer = context.stackPointer
      snapshot.threads[index].instructionPointer = context.instructionPointer
      // The system call in which the thread waits was made by the handler, not by the program.
      snapshot.threads[index].systemCall = nil
      snapshot.threads[index].captureMethod = .stopped
    }
  }

  /// The registers that a thread had before the handler stopped it; nil unless the thread's stack shows such a stop.
  private func interrupted(_ thread: ThreadSnapshot) -> CPUContext? {
    let frames = walker.frames(of: thread, limit: Self.maximumFrames)
    guard let index = frames.firstIndex(where: { $0.trust == .signalFrame }),
      frames[..<index].contains(where: { $0.symbol?.linkageName == Self.parkingFunction }),
      // The last frame before the interrupted one is the signal trampoline, to which the handler returns. The stack
      // pointer of this frame points into the kernel's signal frame: on arm64 to its start, and on x86_64 to the
      // `ucontext` after the return address.
      let place = frames[..<index].last?.stackPointer
    else { return nil }
    let (offset, count) = snapshot.architecture == .x86_64 ? (40, 19) : (312, 34)
    guard let registers = snapshot.memory.bytes(at: place &+ UInt64(offset), count: count * 8)
    else { return nil }
    return CPUContext(
      architecture: snapshot.architecture, generalRegisters: registers, floatingPointState: nil)
  }
}
