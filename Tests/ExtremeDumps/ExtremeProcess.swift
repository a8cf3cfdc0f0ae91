import IntermediateDump

/// The memory of a made-up process, with code, stacks and guards at the limits.
///
/// In most cases, the parts are consistent, so that a reader does not stop at once: stack pointers point into
/// stacks, return addresses follow calls, and frame records form chains.
struct ExtremeProcess {
  struct Piece {
    var address: UInt64
    var bytes: [UInt8]
  }

  struct Mapping {
    var start: UInt64
    var end: UInt64
    var protection: String
    var path: String
  }

  struct Module {
    var address: UInt64
    var path: String
    var buildID: [UInt8]
    var headers: [UInt8]
    var size: UInt64?
  }

  struct Thread {
    var id: UInt64
    var registers: [UInt64]
    var stack: [Piece]
    var stackStart: UInt64
    var stackEnd: UInt64
  }

  let isARM: Bool
  var mappings: [Mapping] = []
  var modules: [Module] = []
  var threads: [Thread] = []
  var memory: [Piece] = []
  var tasks: [UInt64] = []
  var faultAddress: UInt64 = 0
  private var returnAddresses: [UInt64] = []
  private var codeStarts: [UInt64] = []

  init(_ numbers: inout ExtremeNumbers, module file: ModuleFile) {
    isARM = numbers.chance(25)
    for _ in 0..<(1 + numbers.below(3)) { addCode(&numbers, file) }
    for index in 0..<(1 + numbers.below(3)) { addThread(&numbers, UInt64(100 + index)) }
    for _ in 0..<numbers.below(3) { addTask(&numbers) }
    for _ in 0..<numbers.below(4) {
      memory.append(Piece(address: numbers.number(), bytes: numbers.words(1 + numbers.below(6))))
    }
    for _ in 0..<numbers.below(3) {
      let start = numbers.number()
      mappings.append(
        Mapping(
          start: start, end: numbers.chance(50) ? numbers.near(start) : numbers.number(),
          protection: numbers.pick(["---p", "r--p", "rw-p", "r-xp", "rwxs"]),
          path: numbers.pick(["", "[heap]", "[stack]", "/none/file", file.path])))
    }
    let stack = threads[0].stackStart
    faultAddress =
      numbers.chance(60) ? numbers.near(stack) : numbers.chance(50) ? numbers.number() : stack &- 8
  }

  /// An address around which some regions are placed, usually page-aligned.
  private func place(_ numbers: inout ExtremeNumbers) -> UInt64 {
    let number = numbers.number()
    return numbers.chance(70) ? number & ~0xFFF : number
  }

  // MARK: - Code

  private mutating func addCode(_ numbers: inout ExtremeNumbers, _ file: ModuleFile) {
    let start = place(&numbers)
    var code = numbers.chance(50) ? file.code : numbers.bytes(256)
    let push: [UInt8] =
      isARM ? [0xFD, 0x7B, 0xBF, 0xA9, 0xFD, 0x03, 0, 0x91] : [0x55, 0x48, 0x89, 0xE5]
    code.replaceSubrange(128..<128 + push.count, with: push)
    // Two calls whose return addresses may be on a stack.
    for offset in [160, 200] {
      let call: [UInt8] = isARM ? [0, 0, 0, 0x94] : [0xE8, 1, 2, 3, 4]
      code.replaceSubrange(offset - call.count..<offset, with: call)
      returnAddresses.append(start &+ UInt64(offset))
    }
    if numbers.chance(50) {
      // The image's own headers, like those of the vDSO that the handler keeps.
      let headers = elfHeaders(&numbers)
      code.replaceSubrange(0..<headers.count, with: headers)
      memory.append(
        Piece(address: start &+ numbers.pick([224, 0x200, 256]), bytes: frameHeader(&numbers)))
    }
    codeStarts.append(start)
    if numbers.chance(80) { memory.append(Piece(address: start, bytes: code)) }
    mappings.append(
      Mapping(
        start: start, end: numbers.chance(70) ? start &+ 0x1000 : numbers.near(start &+ 0x1000),
        protection: "r-xp", path: numbers.chance(50) ? file.path : "/none/app"))
    modules.append(
      Module(
        address: numbers.chance(85) ? start : numbers.number(),
        path: numbers.pick([file.path, file.path, "[vdso]", "/none/app", "", numbers.text()]),
        buildID: numbers.chance(80) ? file.buildID : numbers.bytes(numbers.below(24)),
        headers: programHeaders(&numbers), size: numbers.chance(30) ? numbers.number() : nil))
  }

  private func programHeaders(_ numbers: inout ExtremeNumbers) -> [UInt8] {
    (0..<(1 + numbers.below(4))).flatMap { index -> [UInt8] in
      let type: UInt64 = index == 0 ? 1 : numbers.pick([1, 0x6474_E550, 4, numbers.number()])
      let address = index == 0 && numbers.chance(50) ? 0 : numbers.number()
      var header = ExtremeBytes.word(type, 4) + ExtremeBytes.word(numbers.pick([5, 4, 6]), 4)
      for value in [
        numbers.number(), address, numbers.number(), numbers.number(),
        numbers.chance(50) ? 0x1000 : numbers.number(), numbers.number(),
      ] { header += ExtremeBytes.word(value) }
      return header
    }
  }

  /// 64 bytes of an ELF header, and one program header each of PT_LOAD and PT_GNU_EH_FRAME.
  private func elfHeaders(_ numbers: inout ExtremeNumbers) -> [UInt8] {
    var bytes: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + Array(repeating: 0, count: 57)
    ExtremeBytes.put(numbers.chance(90) ? 64 : numbers.number(), at: 32, in: &bytes)
    ExtremeBytes.put(1, 2, at: 56, in: &bytes)
    if numbers.chance(10) { ExtremeBytes.put(numbers.number(), 2, at: 56, in: &bytes) }
    var header = [UInt8](repeating: 0, count: 56)
    // One header with both uses: its type and its address with or without a PT_LOAD before it.
    ExtremeBytes.put(numbers.pick([1, 0x6474_E550]), 4, at: 0, in: &header)
    ExtremeBytes.put(numbers.chance(50) ? 224 : numbers.number(), at: 16, in: &header)
    ExtremeBytes.put(numbers.chance(30) ? 0x40 : numbers.number(), at: 40, in: &header)
    return bytes + header
  }

  /// An .eh_frame_hdr with its table, followed by a CIE and an FDE.
  private func frameHeader(_ numbers: inout ExtremeNumbers) -> [UInt8] {
    let encodings: [UInt8] = [0x1B, 0x03, 0x3B, 0x00, 0x04, 0x0B, 0xFF, 0x50, 0x9B, 0x01, 0x09]
    var bytes: [UInt8] = [
      1, numbers.pick(encodings), numbers.pick([0x03, 0x04, 0x01]), numbers.pick(encodings),
    ]
    bytes += ExtremeBytes.word(numbers.number())
    bytes += ExtremeBytes.word(numbers.chance(70) ? 1 + numbers.next() % 3 : numbers.number(), 4)
    bytes += numbers.words(6)
    for _ in 0..<2 {
      bytes += ExtremeBytes.word(numbers.chance(80) ? 24 : numbers.number(), 4)
      bytes += ExtremeBytes.word(numbers.pick([0, 28, numbers.number()]), 4)
      bytes += [1, 0x7A, 0x52, 0, 1, 0x78, 16, 1, numbers.pick(encodings)]
      bytes += numbers.bytes(16)
    }
    return bytes
  }

  // MARK: - Stacks

  private mutating func addThread(_ numbers: inout ExtremeNumbers, _ id: UInt64) {
    let start = place(&numbers)
    let count = 8 * (2 + numbers.below(60))
    // Some stacks extend to the end of the address space.
    let pieceStart =
      numbers.chance(20) ? 0 &- UInt64(count) &- numbers.pick([0, 1, 8, 16]) : numbers.near(start)
    var stack = [Piece(address: pieceStart, bytes: frames(at: pieceStart, count, &numbers))]
    var end = pieceStart &+ UInt64(count)
    if numbers.chance(30) {
      // A second part after a gap; the memory between the two parts is not in the dump.
      let gap = numbers.chance(50) ? numbers.number() & ~7 : 0x10_0000
      let second = end &+ gap
      stack.append(Piece(address: second, bytes: frames(at: second, 256, &numbers)))
      end = second &+ 256
    }
    if numbers.chance(80) {
      mappings.append(
        Mapping(
          start: pieceStart & ~0xFFF, end: numbers.chance(70) ? (end | 0xFFF) &+ 1 : end,
          protection: "rw-p", path: numbers.chance(30) ? "[stack]" : ""))
    }
    if numbers.chance(50) {
      let guardEnd = pieceStart & ~0xFFF
      mappings.append(
        Mapping(start: guardEnd &- 0x1000, end: guardEnd, protection: "---p", path: ""))
    }
    var registers = (0..<34).map { _ in numbers.number() }
    let pointer = numbers.chance(70) ? pieceStart &+ 8 &* (numbers.next() % 4) : numbers.near(start)
    let frame = numbers.chance(70) ? pieceStart &+ 16 : numbers.number()
    let code =
      numbers.chance(70)
      ? numbers.pick(codeStarts) &+ numbers.pick([0, 128, 129, 132, 160, 170, 255])
      : numbers.number()
    if isARM {
      (registers[29], registers[31], registers[32]) = (frame, pointer, code)
      registers[30] = numbers.pick(returnAddresses)
    } else {
      (registers[10], registers[15], registers[16]) = (frame, pointer, code)
      (registers[19], registers[20]) = (numbers.small(), numbers.pick([14, 13, 6]))
    }
    let stackStart = numbers.chance(60) ? pieceStart & ~0xFFF : numbers.number()
    threads.append(
      Thread(
        id: id, registers: registers, stack: stack, stackStart: stackStart,
        stackEnd: numbers.chance(60) ? end : numbers.number()))
  }

  /// Frame records that lead upwards, with arbitrary words in between; the last one points outside the region.
  private func frames(
    at address: UInt64, _ count: Int, _ numbers: inout ExtremeNumbers
  ) -> [UInt8] {
    var bytes = numbers.words(count / 8)
    let target = numbers.pick(returnAddresses)
    let size = 8 * (2 + numbers.below(3))
    for offset in stride(from: 0, to: count - 15, by: size) {
      let next =
        numbers.chance(97) ? address &+ UInt64(offset + size) : numbers.near(address)
      ExtremeBytes.put(next, at: offset, in: &bytes)
      let back = numbers.chance(90) ? target : numbers.chance(50) ? 0 : numbers.number()
      ExtremeBytes.put(back, at: offset + 8, in: &bytes)
    }
    return bytes
  }

  /// The memory of a task, with a record that names it.
  private mutating func addTask(_ numbers: inout ExtremeNumbers) {
    let address = numbers.chance(50) ? numbers.number() & ~15 : 0 &- 0xA0
    var bytes = numbers.words(20)
    ExtremeBytes.put(numbers.next() & ~0xFF, at: 0x20, in: &bytes)
    let record = numbers.chance(50) ? address : numbers.number()
    ExtremeBytes.put(record, at: 0x68, in: &bytes)
    ExtremeBytes.put(numbers.pick([6, 1]), at: 0, in: &bytes)
    ExtremeBytes.put(numbers.chance(50) ? address &+ 0x80 : numbers.number(), at: 16, in: &bytes)
    memory.append(Piece(address: address, bytes: bytes))
    tasks.append(address)
  }

  /// The text in the format of /proc/PID/maps.
  var mapsText: String {
    mappings.map { mapping in
      "\(String(mapping.start, radix: 16))-\(String(mapping.end, radix: 16)) \(mapping.protection)"
        + " 00000000 08:01 12 \(mapping.path)\n"
    }.joined()
  }
}
