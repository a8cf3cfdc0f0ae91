package import IntermediateDump
package import ProcessSnapshot

/// The contents of a module's file of the build that crashed, for memory that no process can have changed.
package struct ModuleContents {
  /// A range of the process's memory, and its place in the file.
  package struct Part {
    package let range: AddressRange
    package let offset: Int
  }

  package let bytes: DumpBytes
  /// The loaded segments that cannot be written: code and constants.
  ///
  /// Relocated data is in other sections.
  package let constantParts: [Part]

  /// Finds and opens the file.
  ///
  /// - Parameters:
  ///   - module: as the dump describes it; without a build ID no file is known to be its own.
  ///   - directories: searched besides the module's own path.
  /// - Returns: nil if no file of this build is found.
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
