internal import CrashAnalysis
internal import CrashReport
internal import Stackwalk

/// Finds the source files that a report's debug information names.
///
/// For each path, the finder uses the longest suffix that exists in one of `directories`. So the sources may be in a
/// directory other than the one in which the program was compiled. The finder ignores paths with `..`, because the
/// paths in a report cannot be trusted.
struct SourceFinder {
  /// The directories to search, which must exist.
  let directories: [String]
  /// The maximum size in bytes; a larger file is not treated as source code.
  private static let maximumSize = 8 << 20

  /// Adds source lines to a report, for those calls of the crashing thread that are in the program's own code.
  func add(to report: inout CrashReport) {
    var files: [String: [UInt8]] = [:]
    for place in report.ownPlaces {
      let text = files[place.file] ?? bytes(of: place.file)
      files[place.file] = text
      report.excerpts[place] = text.flatMap { SourceExcerpt(of: place, in: $0) }
    }
  }

  private func bytes(of file: String) -> [UInt8]? {
    let parts = file.split(separator: "/")
    guard !parts.isEmpty, !parts.contains(".."), !file.utf8.contains(0) else { return nil }
    for count in stride(from: parts.count, to: 0, by: -1) {
      let end = parts.suffix(count).joined(separator: "/")
      for directory in directories {
        let path = "\(directory)/\(end)"
        guard InputFile.exists(path), let bytes = try? InputFile.bytes(of: path),
          bytes.count <= Self.maximumSize
        else { continue }
        return bytes
      }
    }
    return nil
  }
}
