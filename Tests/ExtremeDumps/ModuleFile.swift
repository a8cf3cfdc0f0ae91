internal import Foundation

/// A small ELF file with a build ID, a symbol table and a function, as a module of made-up processes.
///
/// The file itself is valid; only its address in the dumps is wrong.
struct ModuleFile {
  let path: String
  let buildID: [UInt8] = [0xE1, 2, 3, 4, 5, 6, 7, 8]
  /// The bytes of the code segment; a function with a frame starts at byte 128.
  let code: [UInt8]

  init(in directory: String) throws {
    path = directory + "/module.so"
    var code = [UInt8](repeating: 0x90, count: 256)
    code.replaceSubrange(128..<132, with: [0x55, 0x48, 0x89, 0xE5])
    self.code = code
    try Data(Self.bytes(code: code, buildID: buildID)).write(to: URL(fileURLWithPath: path))
  }

  private static func bytes(code: [UInt8], buildID: [UInt8]) -> [UInt8] {
    let note =
      ExtremeBytes.word(4, 4) + ExtremeBytes.word(UInt64(buildID.count), 4)
      + ExtremeBytes.word(3, 4) + Array("GNU\0".utf8) + buildID
    // The symbol with index 1: a global function of 128 bytes in section 1.
    let symbols =
      [UInt8](repeating: 0, count: 24) + ExtremeBytes.word(1, 4) + [0x12, 0]
      + ExtremeBytes.word(1, 2) + ExtremeBytes.word(128) + ExtremeBytes.word(128)
    let strings = Array("\0extreme_function\0".utf8)
    let names = Array("\0.text\0.symtab\0.strtab\0.shstrtab\0".utf8)
    let codeOffset = 64 + 2 * 56
    var body = code
    let places = [note, symbols, strings, names].map { part in
      defer { body += part }
      return codeOffset + body.count
    }
    var file: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
    file += ExtremeBytes.word(3, 2) + ExtremeBytes.word(62, 2) + ExtremeBytes.word(1, 4)
    file += ExtremeBytes.word(0) + ExtremeBytes.word(64)
    file += ExtremeBytes.word(UInt64(codeOffset + body.count)) + ExtremeBytes.word(0, 4)
    for value: UInt64 in [64, 56, 2, 64, 5, 4] { file += ExtremeBytes.word(value, 2) }
    file += segment(1, flags: 5, offset: codeOffset, address: 0, size: code.count)
    file += segment(4, flags: 4, offset: places[0], address: 0, size: note.count)
    file += body
    file += section(name: 0, type: 0, offset: 0, size: 0, link: 0)
    file += section(name: 1, type: 1, offset: codeOffset, size: code.count, link: 0)
    file += section(name: 7, type: 2, offset: places[1], size: symbols.count, link: 3)
    file += section(name: 15, type: 3, offset: places[2], size: strings.count, link: 0)
    file += section(name: 23, type: 3, offset: places[3], size: names.count, link: 0)
    return file
  }

  private static func segment(
    _ type: UInt64, flags: UInt64, offset: Int, address: UInt64, size: Int
  ) -> [UInt8] {
    ExtremeBytes.word(type, 4) + ExtremeBytes.word(flags, 4) + ExtremeBytes.word(UInt64(offset))
      + ExtremeBytes.word(address) + ExtremeBytes.word(address) + ExtremeBytes.word(UInt64(size))
      + ExtremeBytes.word(UInt64(size)) + ExtremeBytes.word(0x1000)
  }

  private static func section(
    name: UInt64, type: UInt64, offset: Int, size: Int, link: UInt64
  ) -> [UInt8] {
    ExtremeBytes.word(name, 4) + ExtremeBytes.word(type, 4)
      + ExtremeBytes.word(type == 1 ? 6 : 0) + ExtremeBytes.word(0)
      + ExtremeBytes.word(UInt64(offset)) + ExtremeBytes.word(UInt64(size))
      + ExtremeBytes.word(link, 4) + ExtremeBytes.word(0, 4) + ExtremeBytes.word(1)
      + ExtremeBytes.word(24)
  }
}
