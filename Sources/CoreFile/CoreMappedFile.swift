internal import IntermediateDump
internal import ProcessSnapshot

/// One entry of NT_FILE: a mapping of a file.
///
/// Source: Linux fs/binfmt_elf.c, fill_files_note().
struct CoreMappedFile {
  let range: AddressRange
  /// The offset in the file at which the mapping starts, in bytes.
  let offset: UInt64
  /// The path as in `/proc/<pid>/maps`, except that a line feed is not escaped.
  let path: String

  /// The maximum size in bytes of an NT_FILE note that is read; by default, the kernel writes at most 4 MiB.
  private static let maximumSize = 64 << 20

  /// Reads the contents of the note NT_FILE at `place`; nil if they are not valid.
  static func list(
    in bytes: DumpBytes, _ place: Range<Int>
  ) -> (files: [CoreMappedFile], pageSize: UInt64)? {
    guard place.count <= maximumSize, let note = bytes.slice(place),
      let claimed = note.littleEndian(at: 0, width: 8),
      let pageSize = note.littleEndian(at: 8, width: 8),
      let count = Int(exactly: claimed), count <= (note.count - 16) / 24
    else { return nil }
    var files: [CoreMappedFile] = []
    files.reserveCapacity(count)
    var names = note.dropFirst(16 + count * 24)
    for index in 0..<count {
      let entry = 16 + index * 24
      guard let start = note.littleEndian(at: entry, width: 8),
        let end = note.littleEndian(at: entry + 8, width: 8),
        let pages = note.littleEndian(at: entry + 16, width: 8),
        let nameEnd = names.firstIndex(of: 0)
      else { break }
      files.append(
        CoreMappedFile(
          range: AddressRange(from: Address(start), to: Address(end)),
          offset: pages.clampedMultiplied(by: pageSize),
          path: String(decoding: names[..<nameEnd], as: UTF8.self)))
      names = names[(nameEnd + 1)...]
    }
    return (files, pageSize)
  }
}

extension CoreProcess {
  /// The mappings at which an image of a file may begin.
  ///
  /// Several segments of one image can map the file from its start on. Such a mapping directly follows the one before
  /// it in the note, so only the first of them is returned.
  var firstParts: [CoreMappedFile] {
    let files = files.sorted { $0.range.start < $1.range.start }
    return files.indices.filter { index in
      guard files[index].offset == 0 else { return false }
      guard index > 0, files[index - 1].path == files[index].path else { return true }
      return files[index - 1].offset > 0
    }.map { files[$0] }
  }
}
