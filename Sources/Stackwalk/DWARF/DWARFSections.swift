/// The sections of one file that functions and lines are read from; nil for those it lacks.
struct DWARFSections {
  let info: DebugSection?
  let abbreviations: DebugSection?
  let line: DebugSection?
  let lineStrings: DebugSection?
  let strings: DebugSection?
  let stringOffsets: DebugSection?
  let addresses: DebugSection?
  let ranges: DebugSection?
  let rangeLists: DebugSection?
  let addressRanges: DebugSection?

  init(of image: ELFImage) {
    info = DebugSection(".debug_info", of: image)
    abbreviations = DebugSection(".debug_abbrev", of: image)
    line = DebugSection(".debug_line", of: image)
    lineStrings = DebugSection(".debug_line_str", of: image)
    strings = DebugSection(".debug_str", of: image)
    stringOffsets = DebugSection(".debug_str_offsets", of: image)
    addresses = DebugSection(".debug_addr", of: image)
    ranges = DebugSection(".debug_ranges", of: image)
    rangeLists = DebugSection(".debug_rnglists", of: image)
    addressRanges = DebugSection(".debug_aranges", of: image)
  }

  /// What is there and cannot be read; nil where all can.
  var note: String? {
    for section in [info, abbreviations, line, strings] {
      switch section?.obstacle {
      case .zstandard: return "its debug information is compressed with zstd, which is not read"
      case .unknownCompression: return "its debug information is compressed in an unknown way"
      case .damaged: return "its compressed debug information is damaged"
      case .tooLarge: return "its compressed debug information is too large to be read"
      case nil: continue
      }
    }
    return nil
  }
}
