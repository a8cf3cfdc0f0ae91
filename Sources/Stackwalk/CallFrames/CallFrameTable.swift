internal import ProcessSnapshot

/// Finds the call frame information of a module's functions.
///
/// Only indexes are kept, 16 to 24 bytes a function, and made when they are first needed; entries
/// are read when they are asked for.
final class CallFrameTable {
  /// Where a module keeps its frame sections, in the file's own numbering.
  struct Places {
    /// `.eh_frame_hdr`, from its program header.
    var header: AddressRange?
    /// `.eh_frame`, needed only where the header has no table.
    var exceptionFrame: AddressRange?
    /// Offsets within `.debug_frame`.
    var debugFrame: AddressRange?
  }

  private let places: Places
  private let source: any FrameSource
  private(set) lazy var header = Self.header(places, source)
  private lazy var exceptionFrame = scannedExceptionFrame()
  private lazy var debugFrame = places.debugFrame.map { range in
    Self.index(.debugFrame, range, source)
  }

  init(_ places: Places, from source: any FrameSource) {
    self.places = places
    self.source = source
  }

  /// The last function start at or below an address, where there is a table of them.
  func functionStart(of address: Address) -> Address? { header.entry(at: address)?.start }

  /// What describes the function around an address of the file's own numbering.
  func description(at address: Address) -> FrameDescription? {
    if let entry = header.entry(at: address) {
      let found = Self.description(.exceptionFrame, entry.description, source)
      if let found, found.range.contains(address) { return found }
    } else if header.entries.isEmpty, let position = exceptionFrame?.position(of: address) {
      if let found = Self.description(.exceptionFrame, position, source) { return found }
    }
    return debugFrame?.position(of: address).flatMap { Self.description(.debugFrame, $0, source) }
  }

  /// The rules that hold at an address of the file's own numbering.
  ///
  /// - Parameter loadBias: what is added to the file's addresses in the process.
  func row(at address: Address, loadBias: UInt64, registerCount: Int) -> FrameRow? {
    guard let description = description(at: address),
      var row = CallFrameProgram.row(
        of: description, at: address, registerCount: registerCount)
    else { return nil }
    row.loadBias = loadBias
    return row
  }

  private static func header(_ places: Places, _ source: some FrameSource) -> ExceptionFrameHeader {
    guard let range = places.header else { return ExceptionFrameHeader() }
    return ExceptionFrameHeader(
      at: range.start.value, size: range.byteCount, from: source)
  }

  private func scannedExceptionFrame() -> FrameIndex? {
    places.exceptionFrame.map { Self.index(.exceptionFrame, $0, source) }
  }

  private static func index(
    _ section: FrameSection, _ range: AddressRange, _ source: some FrameSource
  ) -> FrameIndex {
    FrameIndex(of: section, in: range, from: source)
  }

  private static func description(
    _ section: FrameSection, _ position: UInt64, _ source: some FrameSource
  ) -> FrameDescription? {
    guard let entry = FrameEntry(of: section, at: position, from: source),
      case .description(let commonPosition) = entry.kind,
      let common = FrameEntry(of: section, at: commonPosition, from: source)
        .flatMap(CommonInformation.init)
    else { return nil }
    return FrameDescription(entry, common: common)
  }
}
