internal import ProcessSnapshot

/// The registers of one frame by DWARF number; nil where a method could not tell.
struct UnwindRegisters {
  private var values: [UInt64?]
  let map: RegisterMap

  init(map: RegisterMap) {
    self.map = map
    values = Array(repeating: nil, count: map.count)
  }

  init(_ context: CPUContext) {
    switch context {
    case .x86_64(let x86): self.init(x86)
    case .arm64(let arm): self.init(arm)
    }
  }

  /// Nil for a number that is not tracked; setting that does nothing.
  subscript(_ number: Int) -> UInt64? {
    get { values.indices.contains(number) ? values[number] : nil }
    set { if values.indices.contains(number) { values[number] = newValue } }
  }

  var programCounter: Address? {
    get { values[map.programCounter].map { Address($0) } }
    set { values[map.programCounter] = newValue?.value }
  }

  var stackPointer: Address? {
    get { values[map.stackPointer].map { Address($0) } }
    set { values[map.stackPointer] = newValue?.value }
  }

  var framePointer: Address? {
    get { values[map.framePointer].map { Address($0) } }
    set { values[map.framePointer] = newValue?.value }
  }

  /// The arm64 link register; nil on x86_64.
  var linkRegister: UInt64? { map.linkRegister.flatMap { values[$0] } }

  /// The registers of a caller of which a method learned these three; all others are unknown.
  func caller(
    programCounter: Address, stackPointer: Address?, framePointer: Address?
  ) -> UnwindRegisters {
    var caller = UnwindRegisters(map: map)
    caller.programCounter = programCounter
    caller.stackPointer = stackPointer
    caller.framePointer = framePointer
    return caller
  }
}
