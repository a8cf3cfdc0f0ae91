/// An ELF image with call frame information as a dump's memory may hold it.
struct HandmadeImage {
  /// The ELF header and the program headers, at the image's start.
  let header: [UInt8]
  /// `.eh_frame` and `.eh_frame_hdr`, 0x800 bytes on.
  let frames: [UInt8]

  /// - Parameters:
  ///   - address: where the image is loaded.
  ///   - functions: offsets from its start, and the instructions behind the usual ones.
  init(at address: UInt64, functions: [(range: Range<UInt64>, instructions: [UInt8])]) {
    let start = address + 0x800
    var section = FrameBytes(address: start)
    section.common()
    var entries: [(UInt64, UInt64)] = []
    for function in functions {
      let range = address + function.range.lowerBound..<address + function.range.upperBound
      entries.append((range.lowerBound, start + UInt64(section.bytes.count)))
      section.description(range, instructions: function.instructions)
    }
    let headerOffset = 0x800 + UInt64(section.bytes.count)
    section.bytes += FrameBytes.header(entries, at: address + headerOffset, section: start)
    let little = FrameBytes.little
    let size = 0x800 + UInt64(section.bytes.count) - headerOffset
    var elf: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0] + [UInt8](repeating: 0, count: 8)
    elf += little(3, 2) + little(62, 2) + little(1, 4) + little(0, 8) + little(64, 8)
    elf += little(0, 8) + little(0, 4) + little(64, 2) + little(56, 2) + little(2, 2)
    elf += [UInt8](repeating: 0, count: 6)
    func segment(_ type: UInt64, _ place: UInt64, _ size: UInt64) -> [UInt8] {
      little(type, 4) + little(5, 4) + little(place, 8) + little(place, 8) + little(place, 8)
        + little(size, 8) + little(size, 8) + little(8, 8)
    }
    header = elf + segment(1, 0, 0x1000) + segment(0x6474_E550, headerOffset, size)
    frames = section.bytes
  }
}
