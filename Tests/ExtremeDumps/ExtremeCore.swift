/// A core file with a program, a module, threads and segments, in which most numbers can have any value.
enum ExtremeCore {
  private static let stack: UInt64 = 0x7FFD_0000_0000
  private static let program: UInt64 = 0x40_0000

  static func bytes(seed: UInt64, module: ModuleFile) -> [UInt8] {
    var numbers = ExtremeNumbers(seed: seed ^ 0xC04E)
    var segments: [(address: UInt64, flags: UInt64, bytes: [UInt8], size: UInt64)] = [
      (program, 4, image(module, &numbers), 0x1000), (program &+ 0x1000, 5, [], 0x1000),
      (stack, 6, stackBytes(&numbers), 0x1000),
    ]
    for _ in 0..<numbers.below(6) {
      let address = numbers.chance(50) ? numbers.near(stack) : numbers.number()
      segments.append(
        (address, numbers.small(), numbers.bytes(numbers.below(64)), numbers.number()))
    }
    let notes = notes(module, &numbers)
    let count = segments.count + 1
    var place = 64 + count * 56
    var file: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
    file += ExtremeBytes.word(4, 2) + ExtremeBytes.word(numbers.chance(20) ? 183 : 62, 2)
    file += ExtremeBytes.word(1, 4) + ExtremeBytes.word(0) + ExtremeBytes.word(64)
    file += ExtremeBytes.word(0) + ExtremeBytes.word(0, 4)
    for value: UInt64 in [64, 56, UInt64(count), 64, 0, 0] { file += ExtremeBytes.word(value, 2) }
    func header(
      _ type: UInt64, _ flags: UInt64, _ address: UInt64, _ count: Int, _ size: UInt64
    ) -> [UInt8] {
      let bytes =
        ExtremeBytes.word(type, 4) + ExtremeBytes.word(flags, 4)
        + ExtremeBytes.word(numbers.chance(3) ? numbers.number() : UInt64(place))
        + ExtremeBytes.word(address) + ExtremeBytes.word(0)
        + ExtremeBytes.word(numbers.chance(3) ? numbers.number() : UInt64(count))
        + ExtremeBytes.word(size) + ExtremeBytes.word(0x1000)
      place += count
      return bytes
    }
    file += header(4, 0, 0, notes.count, 0)
    for segment in segments {
      file += header(1, segment.flags, segment.address, segment.bytes.count, segment.size)
    }
    return file + notes + segments.flatMap(\.bytes)
  }

  /// The first page of a program, with the parts that readers use.
  private static func image(_ module: ModuleFile, _ numbers: inout ExtremeNumbers) -> [UInt8] {
    var bytes: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
    bytes += ExtremeBytes.word(3, 2) + ExtremeBytes.word(62, 2) + ExtremeBytes.word(1, 4)
    bytes += ExtremeBytes.word(0) + ExtremeBytes.word(64) + ExtremeBytes.word(0)
    bytes += ExtremeBytes.word(0, 4)
    for value: UInt64 in [64, 56, 5, 64, 0, 0] { bytes += ExtremeBytes.word(value, 2) }
    // Headers for code, the build ID, the dynamic section, thread-local variables, and unwind tables.
    let headers: [(UInt64, UInt64, UInt64)] = [
      (1, 0, 0x2000), (4, 0x180, 24), (2, 0x1A0, 32), (7, 0x1C0, 32), (0x6474_E550, 0x1C0, 16),
    ]
    for (type, address, size) in headers {
      bytes += ExtremeBytes.word(type, 4) + ExtremeBytes.word(5, 4)
      for value in [address, address, 0, size, size, 8] {
        bytes += ExtremeBytes.word(numbers.chance(5) ? numbers.number() : value)
      }
    }
    bytes += [UInt8](repeating: 0, count: max(0, 0x180 - bytes.count))
    bytes += ExtremeBytes.word(4, 4) + ExtremeBytes.word(UInt64(module.buildID.count), 4)
    bytes += ExtremeBytes.word(3, 4) + Array("GNU\0".utf8) + module.buildID
    bytes += [UInt8](repeating: 0, count: max(0, 0x1A0 - bytes.count))
    // DT_DEBUG points to a list on the stack.
    bytes += ExtremeBytes.word(21) + ExtremeBytes.word(stack &+ 0x40)
    return bytes + numbers.words(8)
  }

  /// A `struct r_debug`, list entries that may form a ring, and words of all kinds.
  private static func stackBytes(_ numbers: inout ExtremeNumbers) -> [UInt8] {
    var bytes = numbers.words(8)
    bytes += ExtremeBytes.word(1) + ExtremeBytes.word(stack &+ 0x80) + numbers.words(6)
    let next = numbers.pick([0, stack &+ 0x80, numbers.number()])
    bytes +=
      ExtremeBytes.word(program) + ExtremeBytes.word(stack &+ 0x100)
      + ExtremeBytes.word(program &+ 0x1A0) + ExtremeBytes.word(next)
    for _ in 0..<48 {
      let word =
        numbers.chance(50) ? numbers.near(numbers.pick([stack, program])) : numbers.number()
      bytes += ExtremeBytes.word(word)
    }
    return bytes
  }

  private static func note(_ type: UInt64, _ contents: [UInt8], name: String = "CORE") -> [UInt8] {
    let name = Array(name.utf8) + [0]
    func padded(_ bytes: [UInt8]) -> [UInt8] {
      bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }
    return ExtremeBytes.word(UInt64(name.count), 4) + ExtremeBytes.word(UInt64(contents.count), 4)
      + ExtremeBytes.word(type, 4) + padded(name) + padded(contents)
  }

  private static func notes(_ module: ModuleFile, _ numbers: inout ExtremeNumbers) -> [UInt8] {
    var notes: [UInt8] = []
    for index in 0..<(1 + numbers.below(3)) {
      var status = [UInt8](repeating: 0, count: 112)
      ExtremeBytes.put(11, 2, at: 12, in: &status)
      ExtremeBytes.put(UInt64(100 + index), 4, at: 32, in: &status)
      for place in [48, 56, 64, 72] { ExtremeBytes.put(numbers.small(), at: place, in: &status) }
      status += numbers.words(36)
      for (place, value) in [(16, program &+ 0x1080), (19, stack &+ 0x80), (4, stack &+ 0xA0)] {
        let word = numbers.chance(20) ? numbers.number() : numbers.near(value)
        ExtremeBytes.put(word, at: 112 + 8 * place, in: &status)
      }
      notes += note(1, status)
      if index == 0 { notes += processNotes(module, &numbers) }
      notes += note(2, numbers.bytes(528))
      if numbers.chance(30) {
        notes += note(0x401, numbers.words(1), name: "LINUX")
        notes += note(0x404, numbers.words(1), name: "LINUX")
      }
    }
    return notes
  }

  private static func processNotes(
    _ module: ModuleFile, _ numbers: inout ExtremeNumbers
  ) -> [UInt8] {
    var process = [UInt8](repeating: 0x41, count: 136)
    ExtremeBytes.put(100, 4, at: 24, in: &process)
    var signal = [UInt8](repeating: 0, count: 128)
    ExtremeBytes.put(numbers.pick([4, 6, 7, 8, 11, 31]), 4, at: 0, in: &signal)
    ExtremeBytes.put(numbers.small(), 4, at: 8, in: &signal)
    ExtremeBytes.put(numbers.number(), at: 16, in: &signal)
    let vector: [UInt64] = [
      3, program &+ 64, 25, stack &+ 0x180, 33, numbers.pick([0, program, numbers.number()]), 6,
      numbers.pick([4096, numbers.number()]), 0, 0,
    ]
    let files: [(UInt64, UInt64, UInt64, String)] = [
      (program, program &+ 0x1000, 0, module.path),
      (program &+ 0x1000, program &+ 0x2000, 1, module.path),
      (numbers.number(), numbers.number(), numbers.small(), numbers.text()),
    ]
    var list = ExtremeBytes.word(numbers.chance(5) ? numbers.number() : UInt64(files.count))
    list += ExtremeBytes.word(numbers.pick([4096, numbers.number()]))
    for file in files {
      list += ExtremeBytes.word(file.0) + ExtremeBytes.word(file.1) + ExtremeBytes.word(file.2)
    }
    for file in files { list += Array(file.3.utf8) + [0] }
    return note(3, process) + note(0x5349_4749, signal)
      + note(6, vector.flatMap { ExtremeBytes.word($0) }) + note(0x4649_4C45, list)
  }
}
