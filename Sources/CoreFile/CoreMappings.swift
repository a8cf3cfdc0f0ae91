internal import IntermediateDump
internal import ProcessSnapshot

/// The mappings of the process: the segments of a core file, and mapped files without a segment, with the files' names.
struct CoreMappings {
  private struct Mapping {
    var range: AddressRange
    var protection: MemoryMapping.Protection
    var offset: UInt64 = 0
    var path = ""
  }

  /// The maximum size of `text` in bytes; a longer text is cut at the end of a line.
  private static let maximumTextSize = 64 << 20

  /// Lines like those of `/proc/<pid>/maps`; device and inode are 0 and every mapping is private (`p`), because core
  /// files do not contain these values.
  let text: [UInt8]
  let count: Int
  /// All mappings, sorted by address and without overlaps.
  let all: [MemoryMapping]

  /// - Parameters:
  ///   - images: the images in memory, which give the permissions of mappings without a segment; core files from
  ///     debuggers have such mappings.
  init(of image: CoreImage, _ process: CoreProcess, _ images: [CoreModule]) {
    let files = process.files.sorted { $0.range.start < $1.range.start }
    var mappings = image.segments.map { segment in
      var mapping = Mapping(range: segment.range, protection: segment.protection)
      if let file = files.element(containing: segment.range.start, by: { $0.range }) {
        let distance = segment.range.start.wrappedDistance(above: file.range.start)
        (mapping.offset, mapping.path) = (file.offset.clampedAdding(distance), file.path)
      }
      return mapping
    }
    let covered = RangeSet(image.segments.map(\.range))
    for file in files where !covered.contains(file.range.start) {
      var protection: MemoryMapping.Protection = .read
      if images.contains(where: { $0.hasCode(at: file.range.start) }) {
        protection.insert(.execute)
      }
      mappings.append(
        Mapping(
          range: file.range, protection: protection, offset: file.offset, path: file.path))
    }
    // Two of the names that the kernel gives to mappings without a file; the auxiliary vector has an address in each of
    // the two mappings.
    let names = [
      (process.auxiliaryValue(33), "[vdso]"),
      // AT_RANDOM points into the stack of the main thread.
      (process.auxiliaryValue(25), "[stack]"),
    ]
    for case (let address?, let name) in names {
      if let index = mappings.firstIndex(where: { $0.range.contains(Address(address)) }),
        mappings[index].path.isEmpty
      {
        mappings[index].path = name
      }
    }
    all = MemoryMapping.inOrder(
      mappings.map {
        MemoryMapping(
          range: $0.range, protection: $0.protection, fileOffset: $0.offset, path: $0.path)
      })
    count = all.count
    text = Self.text(of: all)
  }

  private static func text(of mappings: [MemoryMapping]) -> [UInt8] {
    var text: [UInt8] = []
    for mapping in mappings {
      func digits(_ value: UInt64) -> String { String(value, radix: 16) }
      let rights: [(MemoryMapping.Protection, String)] = [
        (.read, "r"), (.write, "w"), (.execute, "x"),
      ]
      let letters = rights.map { mapping.protection.contains($0) ? $1 : "-" }.joined()
      let path = mapping.path.isEmpty ? "" : " " + mapping.path.replacing("\n", with: "\\012")
      let line =
        "\(digits(mapping.start.value))-\(digits(mapping.end.value)) \(letters)p "
        + "\(digits(mapping.fileOffset)) 00:00 0\(path)\n"
      guard text.count + line.utf8.count <= maximumTextSize else { break }
      text += line.utf8
    }
    return text
  }
}
