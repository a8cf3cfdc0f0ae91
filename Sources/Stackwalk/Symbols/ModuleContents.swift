package import IntermediateDump
package import ProcessSnapshot

/// The contents of a module's file, used instead of process memory that cannot have changed since the module was
/// loaded.
///
/// Only a file of the build that crashed is used.
package struct ModuleContents {
  /// A range of the process's memory, and the offset of the same bytes in the file.
  package struct Part {
    package let range: AddressRange
    package let offset: Int
  }

  package let bytes: DumpBytes
  /// The loaded segments that are not writable, which contain code and constants.
  ///
  /// Data that the dynamic linker relocates is in writable segments, so it is not included.
  package let constantParts: [Part]

  /// Finds and opens the file of a module.
  ///
  /// - Parameters:
  ///   - module: the module as the dump describes it. If it has no build ID, the result is nil, because no file can be
  ///     recognized as the module's.
  ///   - directories: directories to search after the module's path.
  /// - Returns: nil if the module's path is not absolute, or no file with code and the module's build ID is found.
  package init?(of module: ModuleSnapshot, directories: [String]) {
    guard module.path.hasPrefix("/"), !module.buildID.isEmpty else { return nil }
    let others = SymbolFiles.candidates(for: module, directories: directories)
    for path in [module.path] + others {
      guard let image = try? ELFImage(path: path), image.elf.buildID == module.buildID,
        image.hasCode, let first = image.elf.firstAddress,
        let bytes = image.elf.file.contents
      else { continue }
      self.bytes = bytes
      constantParts = image.elf.segments.filter { $0.type == ELFFile.load && $0.flags & 2 == 0 }
        .compactMap { segment in
          let size = min(
            segment.fileSize, UInt64(bytes.count).clampedSubtracting(segment.fileOffset))
          guard size > 0, let offset = Int(exactly: segment.fileOffset), offset < bytes.count else {
            return nil
          }
          return Part(
            range: AddressRange(
              start: module.address &+ segment.address.wrappedDistance(above: first),
              byteCount: size),
            offset: offset)
        }
      return
    }
    return nil
  }
}
