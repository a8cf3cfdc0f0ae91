public import ProcessSnapshot

/// The entries of a crash summary's stack, and which of them are frames.
///
/// The handler follows frame pointers; where none leads on, it lists each word of the stack that
/// points into code. Unwind tables say how far from the stack pointer the return address of a
/// function lies, so they tell callers from what is left over of earlier calls.
///
/// Source: Docs/Reports.md, "Crash summary"; DWARF 5, 6.4.
public struct CandidateFrames {
  /// One line of the summary.
  public struct Entry: Sendable, Equatable {
    /// Where an entry was found.
    public enum Place: Sendable, Equatable {
      /// In the program counter; or of a version of the lines that does not say.
      case unknown
      /// Bytes above the stack pointer of the crash.
      case stack(UInt64)
      case linkRegister
    }

    /// From the start of `module`.
    public var address: Address
    /// Nil for an address outside all modules.
    public var module: ModuleSnapshot?
    public var place: Place
    /// False for the crash itself and where a frame pointer led.
    public var isCandidate: Bool

    public init(address: Address, module: ModuleSnapshot?, place: Place, isCandidate: Bool) {
      self.address = address
      self.module = module
      self.place = place
      self.isCandidate = isCandidate
    }
  }

  /// The indices of the entries that are left: frames, and candidates that could not be decided.
  public private(set) var kept: [Int] = []
  /// Those of candidates among them that are not known to be frames.
  public private(set) var undecided: Set<Int> = []

  /// Decides with the unwind tables of the modules' files, as far as there are any.
  ///
  /// - Parameters:
  ///   - entries: as the summary lists them, the crash itself first.
  ///   - architecture: of the crashed process.
  ///   - source: looks for the modules' files.
  public init(
    _ entries: [Entry], architecture: ProcessSnapshot.Architecture, source: SymbolSource
  ) {
    let registers = RegisterMap(architecture)
    var index = 0
    // Bytes from the stack pointer of the crash to that of the frame, where it is known.
    var stack: UInt64? = 0
    while index < entries.count {
      kept.append(index)
      let rest = (index + 1)..<entries.count
      let chained = rest.first { !entries[$0].isCandidate }
      var next: Int?
      switch Self.caller(of: entries[index], isCall: index > 0, stack, registers, source) {
      case .none: return
      case .unknown:
        // A frame pointer that leads on is believed, without a table too.
        next = chained == rest.lowerBound ? chained : nil
        stack = next.flatMap { Self.stack(behind: entries[$0].place, registers, stack) }
      case .byFramePointer(let distance):
        next = chained
        guard let next, case .stack(let place) = entries[next].place else { break }
        stack = place &- UInt64(bitPattern: distance)
      case .at(let place, let behind):
        next = rest.first { entries[$0].place == place }
        stack = behind
      }
      guard let next else {
        kept += rest
        undecided = Set(rest.filter { entries[$0].isCandidate })
        return
      }
      index = next
    }
  }

  private enum Caller {
    /// The frame is the outermost one.
    case none
    case unknown
    /// The return address is in the frame record, so far from the frame's end.
    case byFramePointer(Int64)
    case at(Entry.Place, stack: UInt64)
  }

  private static func caller(
    of entry: Entry, isCall: Bool, _ stack: UInt64?, _ registers: RegisterMap,
    _ source: SymbolSource
  ) -> Caller {
    let lookup = isCall ? entry.address.clampedSubtracting(1) : entry.address
    guard let module = entry.module,
      let row = source.cfiRow(at: lookup, in: module, registerCount: registers.count),
      case .register(let register, let offset)? = row.cfa
    else { return .unknown }
    let rule = row.rules[row.returnAddressRegister]
    if rule == .undefined { return .none }
    if register == UInt64(registers.framePointer), case .offset(let distance) = rule {
      return .byFramePointer(distance)
    }
    guard register == UInt64(registers.stackPointer), let stack else { return .unknown }
    let end = stack &+ UInt64(bitPattern: offset)
    switch rule {
    case .offset(let distance):
      return .at(.stack(end &+ UInt64(bitPattern: distance)), stack: end)
    case .unspecified where registers.linkRegister != nil && !isCall,
      .sameValue where registers.linkRegister != nil && !isCall:
      return .at(.linkRegister, stack: end)
    default: return .unknown
    }
  }

  /// The caller's stack pointer, where a call left its return address at a place; nil where the
  /// architecture does not tell.
  private static func stack(
    behind place: Entry.Place, _ registers: RegisterMap, _ stack: UInt64?
  ) -> UInt64? {
    switch place {
    case .stack(let place): registers.linkRegister == nil ? place &+ 8 : nil
    case .linkRegister: stack
    case .unknown: nil
    }
  }
}
