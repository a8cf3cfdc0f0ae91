/// The classes of signals, for ordinary code; crash code reads the table with `SignalTable.word`.
extension SignalTable {
  /// A class of signals; the raw value is the letter that stands for the class in the table's rows.
  package enum Class: UInt8, CaseIterable, Sendable {
    /// A signal that an instruction raises.
    case fault = 0x66  // f
    /// A signal that the handler captures unless the program excludes it.
    case captured = 0x63  // c
    /// A signal that the handler captures only if the program requests it.
    case capturedIfAsked = 0x61  // a
    /// A signal that the kernel sends for an event; its `si_code` is above 0, or its sender is the process itself.
    case kernelEvent = 0x6B  // k
    /// A signal that asks a process to end, or SIGPIPE.
    case endRequest = 0x65  // e
    /// A signal for an event that the program may handle; the package's threads block it, so that a thread of the
    /// program gets it.
    case programEvent = 0x70  // p
    /// A signal that stops or continues a process.
    case jobControl = 0x6A  // j

    package var letter: UInt8 { rawValue }
  }

  /// The signals in a class; bit n - 1 stands for signal n.
  package static func mask(_ wanted: Class) -> UInt64 {
    let text = text
    let base = unsafe text.utf8Start
    var mask: UInt64 = 0
    // `part` says which part of a line `place` is in: 0 for the signal's number, 1 for the letters of the classes, 2
    // for the rest.
    var (part, number) = (0, UInt64(0))
    var place = 0
    while place < text.utf8CodeUnitCount {
      let byte = unsafe base[place]
      place &+= 1
      if byte == 0x0A {
        (part, number) = (0, 0)
      } else if byte == 0x20 {
        part &+= 1
      } else if part == 0 {
        number = number &* 10 &+ UInt64(byte & 0x0F)
      } else if part == 1, byte == wanted.letter {
        mask |= 1 &<< (number &- 1)
      }
    }
    return mask
  }

  /// The numbers of the signals in a class, lowest first.
  package static func numbers(_ wanted: Class) -> [Int32] {
    let mask = mask(wanted)
    return (Int32(1)...31).filter { mask >> UInt64($0 - 1) & 1 == 1 }
  }
}
