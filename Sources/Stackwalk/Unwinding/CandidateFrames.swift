public import ProcessSnapshot

/// Decides which entries of the stack in a crash summary are frames.
///
/// The handler writes the crash summary to standard error. To list the stack, the handler follows frame pointers. If
/// they do not lead to a caller, the handler lists the words of the stack that point into code. The handler also
/// follows a frame pointer that a function seems to have saved. Unwind tables describe where a function's return
/// address and saved registers are, so they distinguish callers from remains of earlier calls.
///
/// Source: Docs/Internals/CrashSummary.md; DWARF 5, 6.4.
public struct CandidateFrames {
  /// One line of the stack in a crash summary.
  public struct Entry: Sendable, Equatable {
    /// How an entry was found.
    public enum Evidence: Sendable, Equatable {
      /// The entry is the instruction pointer of the crash, or was found by following frame pointers.
      ///
      /// If the crash was a call to an address without code, the entry of the caller has this evidence too.
      case framePointer
      /// The entry was found through a frame pointer that a function seems to have saved on the stack.
      case savedPointer
      /// The entry is a word that points into code.
      case candidate
    }

    /// The place where an entry was found.
    public enum Place: Sendable, Equatable {
      /// The entry is the program counter.
      case unknown
      /// The entry was on the stack, at this number of bytes above the stack pointer of the crash.
      case stack(UInt64)
      case linkRegister
    }

    /// The address, which is in the range of `module` if `module` is not nil.
    public var address: Address
    /// The module; nil for an address outside all modules.
    public var module: ModuleSnapshot?
    public var evidence: Evidence
    public var place: Place
    /// The offset of the saved frame pointer that led to this entry, in bytes above the stack pointer of the crash.
    ///
    /// `savedPointer` is nil for an entry that was found in another way, for example through the frame record of the
    /// previous entry.
    public var savedPointer: UInt64?
    /// The number of frames of a recursion that the summary left out after this entry.
    public var foldedCount = 0
    /// The number of frames in one round of the recursion whose frames the summary left out.
    public var foldedPeriod = 0

    public init(
      address: Address, module: ModuleSnapshot?, evidence: Evidence, place: Place,
      savedPointer: UInt64? = nil
    ) {
      self.address = address
      self.module = module
      self.evidence = evidence
      self.place = place
      self.savedPointer = savedPointer
    }
  }

  /// The indices of the entries that are frames, or for which this could not be decided.
  public private(set) var kept: [Int] = []
  /// The indices of the kept entries that are not known to be frames.
  public private(set) var undecided: Set<Int> = []

  private let entries: [Entry]
  private let registers: RegisterMap

  // The stack pointer and the frame pointer of the current frame, in bytes above the stack pointer of the crash. An
  // unknown pointer is nil.
  private var stackPointer: UInt64? = 0
  private var framePointer: UInt64?

  /// Decides which entries are frames, using the unwind tables in the modules' files if these exist.
  ///
  /// - Parameters:
  ///   - entries: the entries in the order of the summary, which begins with the crash itself.
  ///   - architecture: the architecture of the crashed process.
  ///   - source: finds the modules' files.
  public init(
    _ entries: [Entry], architecture: ProcessSnapshot.Architecture, source: SymbolSource
  ) {
    self.entries = entries
    registers = RegisterMap(architecture)
    // The frame pointer of the crash is the address of the frame record of the first entry that was found by following
    // frame pointers.
    framePointer = entries.dropFirst().first {
      $0.evidence == .framePointer && $0.place != .linkRegister && $0.place != .stack(0)
    }.flatMap(Self.record)
    var index = 0
    while index < entries.count {
      kept.append(index)
      let row = row(of: index, source)
      if row.map({ $0.rules[$0.returnAddressRegister] == .undefined }) == true { return }
      let next =
        entries[index].foldedCount > 0
        ? stepOverFolded(from: index)
        : row.map({ step(from: index, $0) }) ?? stepWithoutTable(from: index)
      guard let next else {
        let rest = (index + 1)..<entries.count
        kept += rest
        undecided = Set(rest.filter { entries[$0].evidence != .framePointer })
        return
      }
      index = next
    }
  }

  /// Returns the kept entries as a stack trace with function names.
  ///
  /// - Parameters:
  ///   - snapshot: a snapshot with the modules of the entries.
  ///   - source: finds the modules' files.
  package func trace(in snapshot: ProcessSnapshot, _ source: SymbolSource) -> StackTrace {
    let tailCalls = TailCallFinder(symbols: source, snapshot: snapshot)
    var trace = StackTrace()
    trace.end = .bottom
    func add(_ frame: StackFrame) {
      guard let module = snapshot.module(containing: frame.lookupAddress) else {
        return trace.frames.append(frame)
      }
      var frame = frame
      frame.moduleIndex = snapshot.modules.firstIndex { $0.address == module.address }
      trace.frames += source.frames(at: frame, in: module)
    }
    var callee: Address?
    for index in kept {
      let entry = entries[index]
      let isUndecided = undecided.contains(index)
      if let callee, !isUndecided {
        for address in tailCalls.jumps(behind: entry.address, to: callee) {
          add(StackFrame(address: address, isReturnAddress: true, trust: .tailCall))
        }
      }
      let trust: FrameTrust =
        switch entry.evidence {
        case _ where isUndecided: .scan
        case _ where index == 0: .context
        case .framePointer: .framePointer
        default: .callFrameInformation
        }
      let frame = StackFrame(address: entry.address, isReturnAddress: index > 0, trust: trust)
      add(frame)
      callee = isUndecided ? nil : frame.lookupAddress
      if entry.foldedCount > 0, trace.omittedCount == 0 {
        trace.omit(entry.foldedCount, ofPeriod: entry.foldedPeriod)
        callee = nil
      }
    }
    return trace
  }

  private func row(of index: Int, _ source: SymbolSource) -> CFIRow? {
    let entry = entries[index]
    let lookup = index > 0 ? entry.address.clampedSubtracting(1) : entry.address
    return entry.module.flatMap {
      source.cfiRow(at: lookup, in: $0, registerCount: registers.count)
    }
  }

  /// The offset, from the stack pointer of the crash, of the frame record in which an entry was found; nil if the entry
  /// was not in a frame record.
  private static func record(_ entry: Entry) -> UInt64? {
    guard case .stack(let place) = entry.place, entry.evidence != .candidate else { return nil }
    return place &- 8
  }

  /// Finds the caller with the unwind rules of a frame; nil if the rules need unknown values or do not lead to an
  /// entry.
  private mutating func step(from index: Int, _ row: CFIRow) -> Int? {
    guard case .register(let register, let offset)? = row.cfa,
      let base = register == UInt64(registers.framePointer)
        ? framePointer : register == UInt64(registers.stackPointer) ? stackPointer : nil
    else { return nil }
    let end = base &+ UInt64(bitPattern: offset)
    let place: Entry.Place
    switch row.rules[row.returnAddressRegister] {
    case .offset(let distance): place = .stack(end &+ UInt64(bitPattern: distance))
    case .unspecified, .sameValue:
      // Only the return address of the innermost frame can still be in the link register.
      guard registers.linkRegister != nil, index == 0 else { return nil }
      place = .linkRegister
    default: return nil
    }
    let next = ((index + 1)..<entries.count).first { entries[$0].place == place }
    switch row.rules[registers.framePointer] {
    case .unspecified, .sameValue: break
    case .offset(let distance): framePointer = word(at: end &+ UInt64(bitPattern: distance))
    default: framePointer = nil
    }
    stackPointer = end
    return next
  }

  /// The frame pointer that is saved at an offset in the stack; nil if the summary does not contain this frame pointer.
  private func word(at place: UInt64) -> UInt64? {
    if let led = entries.first(where: { $0.savedPointer == place }) { return Self.record(led) }
    guard let index = entries.firstIndex(where: { Self.record($0) == place }),
      index + 1 < entries.count, entries[index + 1].savedPointer == nil
    else { return nil }
    return Self.record(entries[index + 1])
  }

  /// Finds the first frame after the omitted frames of a recursion; the handler found that frame by following frame
  /// pointers.
  private mutating func stepOverFolded(from index: Int) -> Int? {
    let next = index + 1
    guard next < entries.count, let record = Self.record(entries[next]) else { return nil }
    stackPointer = registers.linkRegister == nil ? record &+ 16 : nil
    framePointer = word(at: record)
    return next
  }

  /// Finds the caller without an unwind table, if the frame pointer leads directly to the next entry.
  private mutating func stepWithoutTable(from index: Int) -> Int? {
    let next = index + 1
    guard next < entries.count, entries[next].evidence == .framePointer else { return nil }
    if case .stack(let place) = entries[next].place {
      stackPointer = registers.linkRegister == nil ? place &+ 8 : nil
      // After a call to an address without code, the return address is on top of the stack without a frame record, so
      // the frame pointer stays the same.
      if index > 0 || place > 0 { framePointer = word(at: place &- 8) }
    }
    return next
  }
}

extension StackTrace {
  /// Records that frames were left out, and that they continue the recursion of the last frames.
  fileprivate mutating func omit(_ count: Int, ofPeriod period: Int) {
    omittedCount = count
    omittedAfter = frames.count
    let calls = frames.filter { !$0.isInlined && $0.trust != .tailCall }
    var first = frames.count { !$0.isInlined } - period
    var known = calls.count - period
    while known >= period, calls[known - period].address == calls[known].address {
      known -= period
      first -= period
    }
    guard first >= 0 else { return }
    let listed = frames.count { !$0.isInlined } - first
    recursion = Recursion(period: period, first: first, count: listed + count)
  }
}
