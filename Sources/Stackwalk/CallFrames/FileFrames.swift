internal import ProcessSnapshot

/// The frame sections of a module's files.
struct FileFrames: FrameSource {
  fileprivate let image: ELFImage?
  fileprivate let debugFrame: DebugSection?

  func frameBytes(of section: FrameSection, at position: UInt64, count: Int) -> [UInt8]? {
    switch section {
    case .exceptionFrame: image?.elf.loadedBytes(at: Address(position), count: count)
    case .debugFrame: debugFrame?.bytes(at: position, count: count)
    }
  }
}

extension CallFrameTable {
  /// `.eh_frame` of the file with code, `.debug_frame` of it or of its split debug file.
  convenience init(of files: SymbolFiles) {
    let debugFrame = [files.image, files.debug].compactMap { $0 }.lazy
      .compactMap { DebugSection(".debug_frame", of: $0) }.first
    var places = Places()
    if let elf = files.image {
      let header = elf.elf.segments.first { $0.type == ELFFile.exceptionFrameHeader }
      places.header = header.map { AddressRange(start: $0.address, byteCount: $0.fileSize) }
      let section = elf.elf.section(named: ".eh_frame")
      places.exceptionFrame = section.map { AddressRange(start: $0.address, byteCount: $0.size) }
    }
    places.debugFrame = debugFrame.map { AddressRange(start: 0, byteCount: $0.size) }
    self.init(places, from: FileFrames(image: files.image, debugFrame: debugFrame))
  }
}
