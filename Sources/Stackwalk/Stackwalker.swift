internal import IntermediateDump
public import ProcessSnapshot

/// Walks the stacks of a crashed process.
///
/// The walker tries several methods to find the caller of each frame, the most reliable first. `StackFrame.trust`
/// records the method that succeeded. Whatever registers and memory contain, no method traps or runs forever.
public struct Stackwalker {
  private let process: UnwindProcess
  private let symbols: SymbolSource?
  private let tailCalls: TailCallFinder?
  private let methods: [any UnwindMethod] = [
    SignalFrameMethod(), CFIMethod(), ReturnAddressMethod(), FramePointerMethod(),
    GapMethod(), ScanMethod(),
  ]

  /// Prepares to walk a snapshot's threads.
  ///
  /// - Parameters:
  ///   - snapshot: the crashed process.
  ///   - symbols: provides names, unwind tables and code from modules' files; nil to use only the dump, which gives
  ///     no names.
  public init(snapshot: ProcessSnapshot, symbols: SymbolSource?) {
    process = UnwindProcess(snapshot: snapshot, symbols: symbols)
    self.symbols = symbols
    tailCalls = symbols.map { TailCallFinder(symbols: $0, snapshot: snapshot) }
  }

  /// Walks the innermost frames of a thread.
  ///
  /// - Parameters:
  ///   - thread: a thread of the snapshot.
  ///   - limit: the maximum number of frames to walk, not counting inlined calls.
  /// - Returns: the frames, innermost first; empty for a thread without an instruction pointer.
  public func frames(of thread: ThreadSnapshot, limit: Int) -> [StackFrame] {
    var frames: [StackFrame] = []
    var count = 0
    guard limit > 0 else { return frames }
    _ = walk(thread) { state in
      frames += symbolicated(bareFrame(state))
      count += 1
      return count < limit
    }
    return frames
  }

  /// Walks the complete stack of a thread, but keeps only the innermost and the outermost frames.
  ///
  /// The walk takes a few microseconds for each frame.
  ///
  /// - Parameters:
  ///   - thread: a thread of the snapshot.
  ///   - head: the maximum number of innermost frames to keep, not counting inlined calls.
  ///   - tail: the number of outermost frames to keep if there are more than `head`.
  ///   - runsTask: true to look for the suspended callers of an asynchronous function too.
  public func trace(
    of thread: ThreadSnapshot, head: Int, tail: Int, runsTask: Bool = false
  ) -> StackTrace {
    var trace = StackTrace()
    var headCount = 0
    // The last frames are kept in a ring, so that a recursion of half a million frames needs little memory.
    var last: [StackFrame] = []
    var position = 0
    var recursion = RecursionFinder()
    var callee: AsyncCallee?
    trace.end = walk(thread) { state in
      if runsTask { follow(&callee, state) }
      recursion.add(
        function: process.functionIdentity(state), stackPointer: state.registers.stackPointer ?? 0,
        isBehindGap: state.trust == .afterGap)
      if state.trust == .afterGap { trace.hasGap = true }
      if headCount < head {
        headCount += 1
        trace.frames += symbolicated(bareFrame(state))
        callee?.setIndex(trace.frames.count - 1)
      } else if last.count < tail {
        last.append(bareFrame(state))
      } else {
        trace.omittedCount += 1
        guard !last.isEmpty else { return true }
        last[position] = bareFrame(state)
        position = (position + 1) % last.count
      }
      return true
    }
    trace.omittedAfter = trace.omittedCount > 0 ? trace.frames.count : 0
    let inOrder = last[position...] + last[..<position]
    trace.frames += inOrder.flatMap(symbolicated)
    trace.recursion = recursion.best
    trace.asyncCalls = callee.flatMap { callee in
      chain(of: callee, thread).map { asyncCalls($0, of: callee, head: head, tail: tail) }
    }
    return trace
  }

  /// Returns named frames for the return addresses of a recorded throw, without the runtime's function
  /// `swift_willThrow`.
  ///
  /// - Returns: the frames, innermost first; calls that were inlined into a frame precede it.
  package func frames(of record: ThrowSnapshot) -> [StackFrame] {
    let frames = record.addresses.flatMap {
      symbolicated(StackFrame(address: $0, isReturnAddress: true, trust: .framePointer))
    }
    return Array(
      frames.drop { $0.symbol?.linkageName.hasPrefix("swift_willThrow") ?? false })
  }

  /// Returns named frames for the addresses at which a suspended task and its callers continue.
  ///
  /// - Returns: the frames, innermost first; calls that were inlined into a frame precede it.
  package func frames(ofSuspended addresses: [Address]) -> [StackFrame] {
    addresses.flatMap {
      symbolicated(StackFrame(address: $0, isReturnAddress: false, trust: .asyncContext))
    }
  }

  /// Walks the stack of a thread, and returns the frames that a report without memory stores, at most
  /// `StoredStack.limit`.
  package func storedStack(of thread: ThreadSnapshot, runsTask: Bool) -> StoredStack {
    var stored = StoredStack(end: StoredStackEnd.bottom.rawValue)
    var callee: AsyncCallee?
    let end = walk(thread) { state in
      if runsTask { follow(&callee, state) }
      stored.frames.append(storedFrame(state))
      return stored.frames.count < StoredStack.limit
    }
    stored.end = end.stored.rawValue
    let callers = callee.flatMap { chain(of: $0, thread) }
    stored.asyncCallers = callers?.addresses
    stored.isAsyncCut = callers?.isCut ?? false
    return stored
  }

  /// The innermost frame on the stack that belongs to an asynchronous function.
  private struct AsyncCallee {
    let state: UnwindState
    private(set) var index: Int?
    private(set) var end: Address?
    private var isFinished = false

    init(state: UnwindState) { self.state = state }

    mutating func setIndex(_ index: Int) {
      if !isFinished, self.index == nil { self.index = index }
    }

    /// Records the caller's stack pointer, which is where the frame of the asynchronous function ends.
    mutating func finish(at caller: UnwindState) {
      guard !isFinished else { return }
      end = caller.registers.stackPointer
      isFinished = true
    }
  }

  /// Records the innermost asynchronous function on the stack in `callee`.
  ///
  /// At the next frame of the walk, records where the frame of this function ends.
  private func follow(_ callee: inout AsyncCallee?, _ state: UnwindState) {
    if callee != nil {
      callee?.finish(at: state)
    } else if let address = state.lookupAddress, process.asyncFunction(address) != nil {
      callee = AsyncCallee(state: state)
    }
  }

  private func storedFrame(_ state: UnwindState) -> StoredStack.Frame {
    StoredStack.Frame(
      address: state.registers.programCounter ?? 0,
      stackPointer: state.registers.stackPointer ?? 0,
      isReturnAddress: state.isReturnAddress, trust: state.trust.stored.rawValue)
  }

  private func chain(of callee: AsyncCallee, _ thread: ThreadSnapshot) -> AsyncContexts.Chain? {
    guard let stored = thread.storedStack else {
      return AsyncContexts(process: process).callers(of: callee.state, end: callee.end)
    }
    return stored.asyncCallers.map {
      AsyncContexts.Chain(addresses: $0, isCut: stored.isAsyncCut)
    }
  }

  private func asyncCalls(
    _ chain: AsyncContexts.Chain, of callee: AsyncCallee, head: Int, tail: Int
  ) -> AsyncCalls {
    func frames(_ addresses: ArraySlice<Address>) -> [StackFrame] {
      addresses.flatMap {
        symbolicated(StackFrame(address: $0, isReturnAddress: false, trust: .asyncContext))
      }
    }
    var calls = AsyncCalls()
    calls.calleeIndex = callee.index
    calls.isCut = chain.isCut
    calls.frames = frames(chain.addresses.prefix(head))
    let rest = chain.addresses.dropFirst(head)
    if rest.count > tail {
      (calls.omittedCount, calls.omittedAfter) = (rest.count - tail, calls.frames.count)
    }
    calls.frames += frames(rest.suffix(tail))
    return calls
  }

  /// Passes each frame to `visit`, innermost first, until `visit` returns false.
  private func walk(
    _ thread: ThreadSnapshot, visit: (UnwindState) -> Bool
  ) -> StackTrace.End {
    if let stored = thread.storedStack { return visitStored(stored, visit) }
    guard var state = initialState(of: thread) else { return .noContext }
    // The stack pointers at which signals have interrupted the thread, the innermost first.
    var interrupted = [state.registers.stackPointer]
    while visit(state) {
      guard process.spend(1) else { return .limit }
      if let address = state.registers.programCounter, process.isFirstFunction(state, address) {
        return .bottom
      }
      switch step(from: state) {
      case .caller(let caller):
        if caller.trust == .signalFrame {
          guard !interrupted.contains(caller.registers.stackPointer) else { return .lost }
          interrupted.append(caller.registers.stackPointer)
        }
        if caller.trust == .scan, leads(caller, to: interrupted) { return .lost }
        // Signal frames in a forged dump could point at each other forever, so their number is limited.
        guard interrupted.count <= 17 else { return .limit }
        for jumper in tailCallers(of: state, before: caller) {
          guard process.spend(1), visit(jumper) else { return .limit }
        }
        state = caller
      case .bottom: return .bottom
      case .unknown: return .lost
      }
    }
    return .limit
  }

  /// True if a frame that was found by scanning is that of a handler for one of these interruptions.
  ///
  /// If an alternate stack overflows, the kernel calls the handler of the fault at the top of this same stack, where the
  /// handler overwrites the outer frames.
  private func leads(_ frame: UnwindState, to interrupted: [Address?]) -> Bool {
    var state = frame
    for _ in 0..<8 {
      guard process.spend(1), case .caller(let caller) = step(from: state) else { return false }
      if caller.trust == .signalFrame {
        return interrupted.contains(caller.registers.stackPointer)
      }
      state = caller
    }
    return false
  }

  /// Passes stored frames to `visit`.
  ///
  /// The report does not contain the memory in which these frames were found, so the stack cannot be walked again.
  private func visitStored(_ stored: StoredStack, _ visit: (UnwindState) -> Bool) -> StackTrace.End
  {
    for frame in stored.frames {
      var registers = UnwindRegisters(map: process.registers)
      registers.programCounter = frame.address
      registers.stackPointer = frame.stackPointer == 0 ? nil : frame.stackPointer
      let state = UnwindState(
        registers: registers, trust: FrameTrust(StoredTrust(rawValue: frame.trust)),
        isReturnAddress: frame.isReturnAddress)
      guard process.spend(1), visit(state) else { return .limit }
    }
    return StackTrace.End(StoredStackEnd(rawValue: stored.end))
  }

  /// Returns the functions between a frame and its caller that have left the stack by tail calls, innermost first.
  private func tailCallers(of state: UnwindState, before caller: UnwindState) -> [UnwindState] {
    let sure: [FrameTrust] = [.callFrameInformation, .framePointer, .returnAddress]
    guard sure.contains(caller.trust), caller.isReturnAddress, state.trust != .scan,
      state.trust != .afterGap, let tailCalls, let callee = state.lookupAddress,
      let returnAddress = caller.registers.programCounter
    else { return [] }
    return tailCalls.jumps(after: returnAddress, to: callee).map { address in
      var registers = caller.registers
      registers.programCounter = address
      return UnwindState(registers: registers, trust: .tailCall, isReturnAddress: true)
    }
  }

  private func initialState(of thread: ThreadSnapshot) -> UnwindState? {
    if let context = thread.context {
      return UnwindState(
        registers: UnwindRegisters(context), trust: .context, isReturnAddress: false,
        isInSystemCall: thread.systemCallNumber != nil)
    }
    guard let instructionPointer = thread.instructionPointer else { return nil }
    var registers = UnwindRegisters(map: process.registers)
    registers.programCounter = instructionPointer
    registers.stackPointer = thread.stackPointer
    return UnwindState(registers: registers, trust: .context, isReturnAddress: false)
  }

  private func step(from state: UnwindState) -> UnwindStep {
    for method in methods {
      switch method.step(from: state, in: process) {
      case .caller(let caller):
        guard isProgress(from: state, to: caller) else { continue }
        return .caller(caller)
      case .bottom: return .bottom
      case .unknown: continue
      }
    }
    return .unknown
  }

  /// Checks that a caller's frame is above its callee's frame, so that a damaged stack cannot make the walk run in a
  /// circle.
  ///
  /// A frame that a signal interrupted may be on another stack and need not be above the handler's frame.
  private func isProgress(from state: UnwindState, to caller: UnwindState) -> Bool {
    guard let old = state.registers.stackPointer, let new = caller.registers.stackPointer else {
      return false
    }
    if caller.trust == .signalFrame { return new != old }
    if new > old { return true }
    // On arm64, a leaf function can have the same stack pointer as its caller. A leaf function calls nothing, so only
    // an interrupted frame can be one.
    return new == old && !state.isReturnAddress && process.registers.linkRegister != nil
  }

  private func bareFrame(_ state: UnwindState) -> StackFrame {
    StackFrame(
      address: state.registers.programCounter ?? 0, isReturnAddress: state.isReturnAddress,
      trust: state.trust, stackPointer: state.registers.stackPointer)
  }

  /// Names a frame, and inserts before it the calls that were inlined into it.
  private func symbolicated(_ frame: StackFrame) -> [StackFrame] {
    var frame = frame
    guard let module = process.snapshot.module(containing: frame.lookupAddress) else {
      return [frame]
    }
    frame.moduleIndex = process.snapshot.modules.partitioningIndex { $0.address >= module.address }
    return symbols?.frames(at: frame, in: module) ?? [frame]
  }
}

// For the method by which a frame was found, a stored stack contains a code, and reports print a word.

extension FrameTrust {
  /// The code for this method; every method of a walk has a code.
  fileprivate var stored: StoredTrust {
    StoredTrust.allCases.first { $0.word == rawValue } ?? .scan
  }

  /// Decodes the code for a method; an unknown code means `scan`, the least reliable method.
  fileprivate init(_ stored: StoredTrust?) {
    self.init(rawValue: (stored ?? .scan).word)
  }
}

extension StackTrace.End {
  fileprivate var stored: StoredStackEnd {
    switch self {
    case .bottom: .bottom
    case .lost: .lost
    case .limit: .limit
    case .noContext: .noContext
    }
  }

  fileprivate init(_ stored: StoredStackEnd?) {
    self =
      switch stored {
      case .bottom: .bottom
      case .lost, nil: .lost
      case .limit: .limit
      case .noContext: .noContext
      }
  }
}
