public import ProcessSnapshot

/// The entries of a crash summary's stack, and which of them are frames.
///
/// The handler follows frame pointers. If the chain breaks, it lists each word of the stack that points into code,
/// and follows a frame pointer that a function seems to have saved. Unwind tables say where the return address and
/// the saved registers of a function are, so they distinguish callers from remains of earlier calls.
///
/// Source: Docs/Internals/CrashSummary.md; DWARF 5, 6.4.
public struct CandidateFrames {
  /// One line of the summary.
  public struct Entry: Sendable, Equatable {
    /// How an entry was found.
    public enum Evidence: Sendable, Equatable {
      /// The entry is the crash itself, or was found by the frame pointer.
      case framePointer
      /// A frame pointer that was found on the stack led to the entry.
      case savedPointer
      /// The entry is a word that points into code.
      case candidate
    }

    /// The place where an entry was found.
    public enum Place: Sendable, Equatable {
      /// The entry is the program counter, or was printed by a version whose lines have no place.
      case unknown
      /// The number of bytes above the stack pointer of the crash.
      case stack(UInt64)
      case linkRegister
    }

    /// The offset from the start of `module`.
    public var address: Address
    /// The module; nil for an address outside all modules.
    public var module: ModuleSnapshot?
    public var evidence: Evidence
    public var place: Place
    /// The place of the saved frame pointer that led to this entry, in bytes above the stack pointer of the crash;
    /// nil if the frame pointer of the entry before led here.
    public var savedPointer: UInt64?
    /// The number of frames of a recursion that the summary folds after this one.
    public var foldedCount = 0
    /// The number of functions that call each other in turn.
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

  /// The indices of the entries that are left: frames, and those that could not be decided.
  public private(set) var kept: [Int] = []
  /// The entries that are not known to be frames.
  public private(set) var undecided: Set<Int> = []

  private let entries: [Entry]
  private let registers: RegisterMap

  // The frame's stack and frame pointer, in bytes above the stack pointer of the crash, if known.
  private var stackPointer: UInt64? = 0
  private var framePointer: UInt64?

  /// Decides with the unwind tables of the modules' files, as far as there are any.
  ///
  /// - Parameters:
  ///   - entries: as the summary lists them, the crash itself first.
  ///   - architecture: of the crashed process.
  ///   - source: looks for the modules' files.
  public init(
    _ entries: [Entry], architecture: ProcessSnapshot.Architecture, source: SymbolSource
  ) {
    self.entries = entries
    registers = RegisterMap(architecture)
    // The first entry with the evidence is the record that the crash's frame pointer leads to.
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

  /// The kept entries as a stack with names.
  ///
  /// - Parameters:
  ///   - snapshot: has the modules of the entries.
  ///   - source: looks for the modules' files.
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

  /// The frame record that an entry was found in; nil if it was in none.
  private static func record(_ entry: Entry) -> UInt64? {
    guard case .stack(let place) = entry.place, entry.evidence != .candidate else { return nil }
    return place &- 8
  }

  /// The caller according to the frame's rules; nil if these need unknown values or do not lead to an entry.
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
      // Only the return address of the innermost frame can still be in the register.
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

  /// A saved frame pointer, if the summary contains it.
  private func word(at place: UInt64) -> UInt64? {
    if let led = entries.first(where: { $0.savedPointer == place }) { return Self.record(led) }
    guard let index = entries.firstIndex(where: { Self.record($0) == place }),
      index + 1 < entries.count, entries[index + 1].savedPointer == nil
    else { return nil }
    return Self.record(entries[index + 1])
  }

  /// The frame that the chain led to after the folded frames.
  private mutating func stepOverFolded(from index: Int) -> Int? {
    let next = index + 1
    guard next < entries.count, let record = Self.record(entries[next]) else { return nil }
    stackPointer = registers.linkRegister == nil ? record &+ 16 : nil
    framePointer = word(at: record)
    return next
  }

  /// A frame pointer that leads directly to the next frame is used without a table.
  private mutating func stepWithoutTable(from index: Int) -> Int? {
    let next = index + 1
    guard next < entries.count, entries[next].evidence == .framePointer else { return nil }
    if case .stack(let place) = entries[next].place {
      stackPointer = registers.linkRegister == nil ? place &+ 8 : nil
      // A call of an address without code leaves no record.
      if index > 0 || place > 0 { framePointer = word(at: place &- 8) }
    }
    return next
  }
}

extension StackTrace {
  /// Notes frames that continue with the recursion of the last ones.
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
