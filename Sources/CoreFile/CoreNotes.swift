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

  /// What the file contains instead of a process, according to the owner of one of its notes; nil if the notes that
  /// `forEach` has visited are those of a process.
  private(set) var foreignOwner: String?

  /// The owners of notes that only core files of kernels, virtual machines and other operating systems have.
  ///
  /// Source: Linux include/linux/vmcore_info.h; QEMU dump/dump.c; Xen public/elfnote.h; FreeBSD, NetBSD and OpenBSD
  /// sys/exec_elf.h.
  private static let foreignOwners = [
    (prefix: "VMCOREINFO", what: "the memory of a Linux kernel"),
    (prefix: "QEMU", what: "the memory of a virtual machine (QEMU)"),
    (prefix: "Xen", what: "the memory of a virtual machine (Xen)"),
    (prefix: "VBCORE", what: "the memory of a virtual machine (VirtualBox)"),
    (prefix: "FreeBSD", what: "a process of FreeBSD"),
    (prefix: "NetBSD-CORE", what: "a process of NetBSD"),
    (prefix: "OpenBSD", what: "a process of OpenBSD"),
  ]

  private static func foreignOwner(_ owner: String?) -> String? {
    owner.flatMap { owner in foreignOwners.first { owner.hasPrefix($0.prefix) }?.what }
  }

  /// Calls `body` for each note of a known kind, in the file's order.
  mutating func forEach(_ body: (Note) -> Void) {
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
        if foreignOwner == nil { foreignOwner = Self.foreignOwner(owner(name, size: nameSize)) }
        let contents = name + Int(nameSize + 3) & ~3
        let end = contents + Int(size)
        // The file or segment ends inside this note, so ignore the note.
        guard end <= segment.upperBound else { break }
        if let kind = Note.Kind(rawValue: type),
          ["CORE", "LINUX"].contains(owner(name, size: nameSize))
        {
          body(Note(kind: kind, contents: contents..<end))
        }
        place = (end + 3) & ~3
      }
    }
  }

  /// The name of a note's owner; nil if it is longer than the names that matter here.
  ///
  /// Other writers use the kernel's type numbers for their own notes.
  private func owner(_ place: Int, size: UInt64) -> String? {
    guard size <= 16, let name = image.bytes.slice(place..<place + Int(size)) else { return nil }
    return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
  }
}
