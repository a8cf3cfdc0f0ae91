internal import IntermediateDump

extension ThreadSnapshot {
  /// Reads a `thread` or `crashingThread` map; nil without an ID.
  init?(
    reading map: IntermediateDumpMap, architecture: ProcessSnapshot.Architecture, id: UInt32?
  ) {
    guard let id else { return nil }
    self.init(id: id)
    name = map.data(.threadName).flatMap(Self.name(unescaping:))
    overlay(map)
    context = CPUContext(
      architecture: architecture, generalRegisters: map.data(.generalRegisters),
      floatingPointState: map.data(.floatingPointState))
    stackPointer = stackPointer ?? context?.stackPointer
    instructionPointer = instructionPointer ?? context?.instructionPointer
    // Written in chunks; touching ones are one piece again. The top of the crashing thread's was
    // written before it was known where the stack begins and ends.
    let pieces = map.elements(.stack).compactMap(\.region)
    stack =
      MemorySnapshot(
        joining: pieces.compactMap { piece in
          stackRange.map { piece.part(within: $0) } ?? piece
        }
      ).regions
  }

  /// Takes what a map has of the fields that are not registers, name or memory.
  mutating func overlay(_ map: IntermediateDumpMap) {
    if let letter = map.unsigned(.threadState).flatMap({ UInt8(exactly: $0) }),
      letter > 0x20, letter < 0x7F
    {
      state = Character(Unicode.Scalar(letter))
    }
    if let method = map.unsigned(.captureMethod).flatMap({ UInt8(exactly: $0) }) {
      captureMethod = CaptureMethod(rawValue: method) ?? captureMethod
    }
    threadPointer = map.address(.threadPointer) ?? threadPointer
    stackPointer = map.address(.threadStackPointer) ?? stackPointer
    instructionPointer = map.address(.threadInstructionPointer) ?? instructionPointer
    blockedSignals = map.unsigned(.blockedSignals) ?? blockedSignals
    schedulingPolicy =
      map.unsigned(.schedulingPolicy).flatMap { UInt8(exactly: $0) } ?? schedulingPolicy
    niceValue = map.signed32(.niceValue) ?? niceValue
    systemCall = map.text(.systemCall) ?? systemCall
    stackBytesOmitted = map.unsigned(.stackBytesOmitted) ?? stackBytesOmitted
    if let start = map.address(.stackRegionStart), let end = map.address(.stackRegionEnd),
      start < end
    {
      stackRange = AddressRange(from: start, to: end)
    }
  }

  /// The name in a `Name:` line of `/proc/<pid>/task/<tid>/status`; nil for an empty one, which
  /// means unnamed.
  ///
  /// The kernel writes a newline as `\n` and a backslash as `\\` there. Source: proc_pid_status(5),
  /// Linux fs/proc/array.c.
  static func name(unescaping text: ArraySlice<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var iterator = text.makeIterator()
    while let byte = iterator.next(), byte != 0 {
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      switch iterator.next() {
      case UInt8(ascii: "n")?: bytes.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "\\")?: bytes.append(byte)
      case let other?: bytes += [byte, other]
      case nil: bytes.append(byte)
      }
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}
