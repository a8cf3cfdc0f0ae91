import IntermediateDump

/// A minidump of an extreme process, assembled byte by byte without the product's code.
struct ExtremeMinidump {
  private var numbers: ExtremeNumbers
  private let process: ExtremeProcess
  private var contents: [UInt8] = []
  private var directory: [(type: UInt64, size: UInt64, rva: UInt64)] = []
  /// The size of the header and of 16 directory entries.
  private static let base = 32 + 16 * 12

  /// The minidump of a seed.
  static func bytes(seed: UInt64, module: ModuleFile) -> [UInt8] {
    var numbers = ExtremeNumbers(seed: seed)
    let process = ExtremeProcess(&numbers, module: module)
    var dump = ExtremeMinidump(numbers, process)
    dump.addStreams(extended: ExtremeDump.bytes(seed: seed, module: module), module)
    return dump.file()
  }

  private init(_ numbers: ExtremeNumbers, _ process: ExtremeProcess) {
    self.numbers = numbers
    self.process = process
  }

  // MARK: - The file

  private mutating func blob(_ bytes: [UInt8]) -> UInt64 {
    while contents.count % 8 != 0 { contents.append(0) }
    defer { contents += bytes }
    return UInt64(Self.base + contents.count)
  }

  /// A 32-bit field, usually with the given value.
  private mutating func field(_ value: UInt64) -> [UInt8] {
    ExtremeBytes.word(numbers.chance(97) ? value : numbers.number(), 4)
  }

  private mutating func string(_ text: String) -> UInt64 {
    let units = text.utf16.flatMap { ExtremeBytes.word(UInt64($0), 2) }
    return blob(field(UInt64(units.count)) + units + [0, 0])
  }

  private mutating func utf8(_ text: String) -> UInt64 {
    blob(field(UInt64(text.utf8.count)) + Array(text.utf8) + [0])
  }

  private mutating func location(_ bytes: [UInt8]) -> [UInt8] {
    let rva = blob(bytes)
    return field(UInt64(bytes.count)) + field(rva)
  }

  private mutating func stream(_ type: UInt64, _ bytes: [UInt8]) {
    guard numbers.chance(95) else { return }
    directory.append((type, UInt64(bytes.count), blob(bytes)))
  }

  private mutating func file() -> [UInt8] {
    var bytes = Array("MDMP".utf8) + ExtremeBytes.word(42899, 4) + field(UInt64(directory.count))
    bytes += field(32) + ExtremeBytes.word(0, 4) + ExtremeBytes.word(numbers.number(), 4)
    bytes += ExtremeBytes.word(0)
    for entry in directory {
      bytes += ExtremeBytes.word(entry.type, 4) + field(entry.size) + field(entry.rva)
    }
    bytes += [UInt8](repeating: 0, count: Self.base - bytes.count)
    bytes += contents
    if numbers.chance(5) { bytes.removeLast(numbers.below(bytes.count)) }
    return bytes
  }

  // MARK: - Streams

  private mutating func addStreams(extended: [UInt8], _ module: ModuleFile) {
    addSystem()
    addMemory()
    addThreads()
    addException()
    addModules()
    addMappings()
    addCrashpad()
    addLinkMap()
    stream(15, numbers.words(30))
    if numbers.chance(60) { stream(0x504D_0003, extended) }
  }

  private mutating func addSystem() {
    var bytes = ExtremeBytes.word(process.isARM ? 12 : 9, 2) + numbers.bytes(18)
    bytes += ExtremeBytes.word(0x8201, 4) + ExtremeBytes.word(string(numbers.text()), 4)
    stream(7, bytes + numbers.bytes(28))
  }

  private var pieces: [ExtremeProcess.Piece] {
    process.memory + process.threads.flatMap(\.stack)
  }

  private mutating func addMemory() {
    if numbers.chance(50) {
      var list = field(UInt64(pieces.count))
      for piece in pieces { list += ExtremeBytes.word(piece.address) + location(piece.bytes) }
      return stream(5, list)
    }
    // The list with 64-bit sizes; the bytes of its regions follow each other.
    let start = blob(pieces.flatMap(\.bytes))
    var list = ExtremeBytes.word(UInt64(pieces.count)) + ExtremeBytes.word(start)
    for piece in pieces {
      let size = numbers.chance(95) ? UInt64(piece.bytes.count) : numbers.number()
      list += ExtremeBytes.word(piece.address) + ExtremeBytes.word(size)
    }
    stream(9, list)
  }

  private mutating func context(_ thread: ExtremeProcess.Thread) -> [UInt8] {
    let all = thread.registers
    if process.isARM {
      var bytes = ExtremeBytes.word(0x40_0007, 4) + numbers.bytes(4)
      for index in 0..<33 { bytes += ExtremeBytes.word(all[index]) }
      return bytes + numbers.bytes(912 - bytes.count)
    }
    var bytes = numbers.bytes(1232)
    ExtremeBytes.put(numbers.pick([0x10_000F, 0x10_000F, 0x10_0001]), 4, at: 48, in: &bytes)
    for offset in stride(from: 120, to: 248, by: 8) {
      ExtremeBytes.put(numbers.number(), at: offset, in: &bytes)
    }
    ExtremeBytes.put(all[15], at: 152, in: &bytes)
    ExtremeBytes.put(all[10], at: 160, in: &bytes)
    ExtremeBytes.put(all[16], at: 248, in: &bytes)
    return bytes
  }

  private mutating func addThreads() {
    var list = field(UInt64(process.threads.count))
    for thread in process.threads {
      let context = location(context(thread))
      list +=
        ExtremeBytes.word(thread.id, 4) + numbers.bytes(12) + ExtremeBytes.word(numbers.number())
      let stack = thread.stack[0]
      list += ExtremeBytes.word(stack.address) + location(stack.bytes) + context
    }
    stream(3, list)
    var names = field(UInt64(process.threads.count))
    for thread in process.threads {
      let rva = numbers.chance(90) ? string(numbers.text()) : numbers.number()
      names += ExtremeBytes.word(thread.id, 4) + ExtremeBytes.word(rva)
    }
    stream(24, names)
  }

  private mutating func addException() {
    let number = numbers.chance(90) ? numbers.pick([11, 11, 4, 6, 7]) : numbers.number()
    var bytes = ExtremeBytes.word(100, 4) + ExtremeBytes.word(0, 4) + ExtremeBytes.word(number, 4)
    bytes += ExtremeBytes.word(numbers.pick([1, 2, 0x80, 0, UInt64(UInt32.max)]), 4)
    bytes += ExtremeBytes.word(0) + ExtremeBytes.word(process.faultAddress) + numbers.words(16)
    stream(6, bytes + location(context(process.threads[0])))
  }

  private mutating func addModules() {
    var list = field(UInt64(process.modules.count))
    for module in process.modules {
      let name = string(module.path)
      let kind = ExtremeBytes.word(numbers.pick([0x4270_454C, 0x5344_5352, 0]), 4)
      let record = location(kind + module.buildID)
      list += ExtremeBytes.word(module.address) + ExtremeBytes.word(module.size ?? 0x1000, 4)
      list += numbers.bytes(8) + ExtremeBytes.word(name, 4) + numbers.bytes(52) + record
      list += numbers.bytes(24)
    }
    stream(4, list)
  }

  private mutating func addMappings() {
    if numbers.chance(50) { return stream(0x4767_0009, Array(process.mapsText.utf8)) }
    var list = field(16) + field(48) + ExtremeBytes.word(UInt64(process.mappings.count))
    for mapping in process.mappings {
      list += ExtremeBytes.word(mapping.start) + numbers.bytes(16)
      list += ExtremeBytes.word(mapping.end &- mapping.start) + ExtremeBytes.word(0x1000, 4)
      let page: UInt64 = mapping.protection.contains("x") ? 0x20 : 0x04
      list += ExtremeBytes.word(mapping.protection == "---p" ? 1 : page, 4) + numbers.bytes(8)
    }
    stream(16, list)
  }

  /// A list in Crashpad's format: the count, then the entries.
  private mutating func list(_ entries: [[UInt8]]) -> [UInt8] {
    field(UInt64(entries.count)) + entries.flatMap { $0 }
  }

  private mutating func dictionary() -> [UInt8] {
    let entries = (0..<numbers.below(3)).map { _ in
      ExtremeBytes.word(utf8(numbers.text()), 4) + ExtremeBytes.word(utf8(numbers.text()), 4)
    }
    return location(list(entries))
  }

  private mutating func addCrashpad() {
    let objects = (0..<numbers.below(3)).map { _ in
      ExtremeBytes.word(utf8(numbers.text()), 4) + ExtremeBytes.word(numbers.small(), 4)
        + ExtremeBytes.word(utf8(numbers.text()), 4)
    }
    let texts = (0..<numbers.below(3)).map { _ in ExtremeBytes.word(utf8(numbers.text()), 4) }
    var module = ExtremeBytes.word(1, 4)
    module += location(list(texts))
    module += dictionary()
    module += location(list(objects))
    let link = ExtremeBytes.word(numbers.small(), 4) + location(module)
    stream(
      0x4350_0001,
      ExtremeBytes.word(1, 4) + numbers.bytes(32) + dictionary() + location(list([link]))
        + numbers.bytes(12))
  }

  private mutating func addLinkMap() {
    var entries: [UInt8] = []
    let count = numbers.below(3)
    for _ in 0..<count {
      entries += ExtremeBytes.word(numbers.number()) + ExtremeBytes.word(string(numbers.text()), 4)
      entries += ExtremeBytes.word(numbers.number())
    }
    let place = blob(entries)
    stream(
      0x4767_000A,
      ExtremeBytes.word(1, 4) + field(place) + field(UInt64(count)) + numbers.words(3)
        + numbers.words(numbers.below(4)))
  }
}
