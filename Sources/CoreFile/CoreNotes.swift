internal import IntermediateDump

/// Walks through the notes of a core file.
///
/// Source: elf(5), "Notes (Nhdr)"; Linux include/uapi/linux/elf.h (`NT_*` constants).
struct CoreNotes {
  /// One note: its kind, and the range of its contents in the file.
  struct Note {
    enum Kind: UInt64 {
      case processStatus = 1
      case floatingPoint = 2
      case process = 3
      case auxiliaryVector = 6
      /// The bytes of this number are the text "SIGI".
      case signalInformation = 0x5349_4749
      /// The bytes of this number are the text "FILE".
      case files = 0x4649_4C45
      case extendedState = 0x202
      case armThreadPointer = 0x401
      case armSystemCall = 0x404
    }

    let kind: Kind
    let contents: Range<Int>
  }

  /// The maximum number of notes that are examined; each thread has several.
  private static let limit = 1 << 20
  private static let headerSize = 12

  let image: CoreImage

  /// Calls `body` for each note of a known kind, in the file's order.
  func forEach(_ body: (Note) -> Void) {
    var left = Self.limit
    for segment in image.notes {
      var place = segment.lowerBound
      while left > 0, segment.upperBound - place >= Self.headerSize,
        let header = image.bytes.slice(place..<place + Self.headerSize),
        let nameSize = header.littleEndian(at: 0, width: 4),
        let size = header.littleEndian(at: 4, width: 4),
        let type = header.littleEndian(at: 8, width: 4)
      {
        left -= 1
        let name = place + Self.headerSize
        let contents = name + Int(nameSize + 3) & ~3
        let end = contents + Int(size)
        // The file or segment ends inside this note, so ignore the note.
        guard end <= segment.upperBound else { break }
        if let kind = Note.Kind(rawValue: type), isKnown(name, size: nameSize) {
          body(Note(kind: kind, contents: contents..<end))
        }
        place = (end + 3) & ~3
      }
    }
  }

  /// True if a note's owner name is one of the kernel's; other writers use the same type numbers for their own notes.
  private func isKnown(_ place: Int, size: UInt64) -> Bool {
    guard size == 5 || size == 6, let name = image.bytes.slice(place..<place + Int(size)) else {
      return false
    }
    return name.elementsEqual("CORE\0".utf8) || name.elementsEqual("LINUX\0".utf8)
  }
}
