internal import CrashTestSupport
internal import Foundation
internal import IntermediateDump

/// A small module without frame pointers, which calls crash-lab back.
public struct LinkedModule: Sendable {
  /// The layouts of an image in its file and in memory.
  public enum Layout: String, CaseIterable, Sendable {
    /// Headers, data and code are in the file's first page, so each mapping starts with the same bytes.
    case lld
    /// Each segment is on separate pages.
    case lldSeparate
    /// Headers, read-only data and code are in one segment.
    case lldWithoutReadOnly
    case gold
    case goldReadOnly
    case bfd
    /// Headers and code are in one segment.
    case oneSegment
    /// The lowest address is not 0.
    case highAddress
    /// The layout of a Swift library.
    case swiftOfLLD
    /// A function without code and the next function have the same address, and both have an entry for it in the
    /// table of unwind information.
    ///
    /// As mold writes them, the entry of the empty one is last.
    case emptyEntryLast
    /// The program headers are at the end of the file, in a segment that a tool such as BOLT or patchelf has added.
    case movedHeaders
    /// As `movedHeaders`, but the segment is not at the same distance from the start as in the file, as patchelf lays it out.
    case distantHeaders
    /// The program headers are at the end of the file, in no segment: the dynamic linker keeps a copy.
    case unloadedHeaders
    /// Neither the ELF header nor the program headers are in a segment.
    case withoutHeaders
  }

  public let path: String

  public init(_ layout: Layout, in directory: String) async throws {
    path = "\(directory)/\(layout).so"
    let sources = BuiltProducts.packageRoot + "/Examples/CrashLab/Module"
    let linker =
      switch layout {
      case .lld, .swiftOfLLD, .emptyEntryLast, .movedHeaders, .distantHeaders, .unloadedHeaders:
        ["-fuse-ld=lld"]
      case .lldSeparate: ["-fuse-ld=lld", "-Wl,-z,separate-code"]
      case .lldWithoutReadOnly: ["-fuse-ld=lld", "-Wl,--no-rosegment"]
      case .gold: ["-fuse-ld=gold"]
      case .goldReadOnly: ["-fuse-ld=gold", "-Wl,--rosegment"]
      case .bfd: ["-fuse-ld=bfd"]
      case .highAddress: ["-fuse-ld=bfd", "-Wl,-Ttext-segment=0x200000"]
      case .oneSegment: ["-fuse-ld=bfd", "-Wl,-z,noseparate-code"]
      case .withoutHeaders:
        ["-fuse-ld=lld", "-nostdlib", "-lc", "-Wl,-T,\(sources)/without-headers.ld"]
      }
    let command =
      layout == .swiftOfLLD
      ? ["swiftc", "-O", "-g", "-use-ld=lld", "-parse-as-library", "-emit-library"]
        + ["-module-name", "Small", sources + "/module.swift", "-o", path]
      : ["clang", "-shared", "-fPIC", "-O1", "-g", "-fomit-frame-pointer"] + linker
        + ["-Wl,--build-id", sources + "/module.c", "-o", path]
    let child = try await ChildProcess.run("/usr/bin/env", command, in: directory)
    guard child.end.exitCode == 0 else {
      throw OutsideToolError("\(command[0]): \(child.end)\n\(child.standardError)")
    }
    switch layout {
    case .emptyEntryLast: try putEmptyEntryLast()
    case .movedHeaders: try Self.moveHeaders(of: path)
    case .distantHeaders: try Self.moveHeaders(of: path, .distant)
    case .unloadedHeaders: try Self.moveHeaders(of: path, .unloaded)
    default: break
    }
  }

  /// Where the new program headers are in memory.
  public enum HeaderPlace: Sendable {
    /// In a segment, at the same distance from the image's start as in the file.
    case asInFile
    /// In a segment, 12 KiB further from the image's start than in the file.
    case distant
    /// In no segment.
    case unloaded
  }

  /// Moves an image's program headers to the end of its file.
  ///
  /// Source: elf(5), Elf64_Ehdr (e_phoff at 32, e_phnum at 56) and Elf64_Phdr (p_vaddr at 16, p_memsz at 40).
  public static func moveHeaders(of path: String, _ new: HeaderPlace = .asInFile) throws {
    var file = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    func word(_ place: Int) -> Int { Int(file.littleEndian(at: place, as: UInt64.self) ?? 0) }
    let entries = stride(from: word(32), to: word(32) + (word(56) & 0xFFFF) * 56, by: 56).map {
      Array(file[$0..<$0 + 56])
    }
    func field(_ entry: [UInt8], _ offset: Int) -> UInt64 {
      entry.littleEndian(at: offset, as: UInt64.self) ?? 0
    }
    let loads = entries.filter { field($0, 0) & 0xFFFF_FFFF == 1 }
    let end = loads.map { field($0, 16) + field($0, 40) }.max() ?? 0
    let place = (max(end, UInt64(file.count)) + 4095) & ~4095
    let address = new == .distant ? place + 0x3000 : place
    let count = new == .unloaded ? entries.count : entries.count + 1
    let size = UInt64(count * 56)
    var added: [UInt8] = []
    if new != .unloaded {
      for value: UInt64 in [4 << 32 | 1, place, address, address, size, size, 4096] {
        added.append(littleEndian: value)
      }
    }
    // The loaded segments must be in the order of their addresses.
    let index = entries.lastIndex { field($0, 0) & 0xFFFF_FFFF == 1 } ?? 0
    // Nothing may find the old ones.
    for index in word(32)..<word(32) + entries.count * 56 { file[index] = 0xAA }
    file += [UInt8](repeating: 0, count: Int(place) - file.count)
    let kept = entries.map { entry in
      // PT_PHDR, from which the dynamic linker computes where a program is.
      guard field(entry, 0) & 0xFFFF_FFFF == 6 else { return entry }
      var own: [UInt8] = []
      for value: UInt64 in [
        4 << 32 | (new == .unloaded ? 0 : 6), place, address, address, size, size, 8,
      ] {
        own.append(littleEndian: value)
      }
      return own
    }
    file += kept[...index].joined() + added + kept[(index + 1)...].joined()
    for (offset, value) in [(32, place), (56, UInt64(word(56) & ~0xFFFF | count))] {
      for byte in 0..<8 { file[offset + byte] = UInt8(truncatingIfNeeded: value >> (8 * byte)) }
    }
    try Data(file).write(to: URL(fileURLWithPath: path))
  }

  /// Overwrites the first two entries of the table with two entries for the empty function's address.
  ///
  /// lld writes only the empty function's entry. The function that loses its entry is on no stack.
  ///
  /// Source: Linux Standard Base Core, 10.6 (exception frames).
  private func putEmptyEntryLast() throws {
    var file = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    func word(_ place: Int) -> Int {
      Int(Int32(truncatingIfNeeded: file.littleEndian(at: place, as: UInt32.self) ?? 0))
    }
    // e_phoff is at offset 32; the loop finds PT_GNU_EH_FRAME. The first segment has the same offsets in the file
    // and in memory.
    let programHeaders = word(32)
    guard
      let entry = (0..<16).map({ programHeaders + $0 * 56 }).first(where: {
        word($0) == 0x6474_E550
      })
    else { throw OutsideToolError("\(path) has no table of unwind information") }
    let header = word(entry + 8)
    let (start, empty) = (word(header + 12), word(header + 16))
    // An entry has its length, the offset of the CIE or 0, the start relative to its own address, and the size.
    var description = header + 4 + word(header + 4)
    while word(description) != 0 {
      let isFunction = word(description + 4) != 0 && word(description + 12) > 0
      if isFunction, description + 8 + word(description + 8) == header + start {
        for (place, value) in zip(
          stride(from: header + 12, to: header + 28, by: 4),
          [start, description - header, start, empty])
        {
          file.replaceSubrange(
            place..<place + 4, with: (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
        }
        try Data(file).write(to: URL(fileURLWithPath: path))
        return
      }
      description += 4 + word(description)
    }
    throw OutsideToolError("\(path) has no function at the place of the empty one")
  }
}
