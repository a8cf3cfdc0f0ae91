/// One instruction of arm64, as llvm-objdump prints it.
struct ARM64Instruction {
  private let text: String
  private let operation: Substring
  /// The instructions before it, the latest one last.
  private let recent: [String]

  init(_ text: String, after recent: [String]) {
    self.text = text
    self.recent = recent
    operation = text.prefix { !$0.isWhitespace }
  }

  /// Adds the facts about the instruction that an audit needs.
  func read(of name: String, into function: inout Disassembly.Function) {
    if text.contains("TPIDR_EL0") { function.readsControlBlock = true }
    // On arm64 the stack protector's canary is a global variable, so every access through the thread pointer is
    // thread-local storage.
    if let thread = threadPointer, text.contains("[\(thread)") || addsTo(thread) {
      function.threadLocal.append(text)
    }
    switch operation {
    case "br", "blr", "braa", "brab", "blraa", "blrab", "braaz", "brabz", "blraaz", "blrabz":
      if !isSwitch { function.indirect.append(text) }
    case "b", "bl", "cbz", "cbnz", "tbz", "tbnz":
      function.add(targetOf: text, from: name)
    default:
      if operation.hasPrefix("b.") { function.add(targetOf: text, from: name) }
    }
  }

  /// The register into which the thread pointer was just read.
  private var threadPointer: Substring? {
    recent.suffix(3).lazy.compactMap { line in
      line.wholeMatch(of: /mrs\s+(x\d+), TPIDR_EL0/)?.1
    }.last
  }

  private func addsTo(_ register: Substring) -> Bool {
    text.wholeMatch(of: /add\s+x\d+, (x\d+), .*/)?.1 == register
  }

  /// True for a jump through the table of a `switch`, which stays inside the function: to a constant place plus one of
  /// the offsets that lie there.
  ///
  ///     adrp x9, 0x1000
  ///     add x9, x9, #0x10
  ///     adr x10, #0x20
  ///     ldrb w11, [x9, x8]
  ///     add x10, x10, x11, lsl #2
  ///     br x10
  private var isSwitch: Bool {
    guard let jump = text.wholeMatch(of: /br\s+(x\d+)/) else { return false }
    let straight = recent.reversed().prefix { !$0.hasPrefix("b") && !$0.hasPrefix("ret") }
    guard
      let sum = straight.firstMatch({
        $0.wholeMatch(of: /add\s+(x\d+), (x\d+), x(\d+)(?:, lsl #2)?/)
      }), sum.1 == jump.1
    else { return false }
    let isLoaded = straight.contains { line in
      line.wholeMatch(of: /ldr(?:b|h|sw)\s+[wx](\d+), \[.*\]/)?.1 == sum.3
    }
    return isLoaded
      && straight.contains { $0.wholeMatch(of: /adrp?\s+(x\d+), .*/)?.1 == sum.2 }
  }
}

extension Sequence {
  /// The first result that is not nil.
  fileprivate func firstMatch<Value>(_ find: (Element) -> Value?) -> Value? {
    for element in self { if let found = find(element) { return found } }
    return nil
  }
}
