internal import IntermediateDump

/// A file that contains a core file, or a dump of a kernel, in a form that this command does not read.
enum UnreadCore: String, CaseIterable {
  /// A problem report of Ubuntu's Apport, which contains a core file as text.
  case apport = "ProblemType:"
  /// A compressed dump of a kernel.
  case kernel = "KDUMP   "
  case flattenedKernel = "makedumpfile"

  /// Recognizes a file by its first bytes, which are the raw value.
  ///
  /// Source: Apport, data format specification; makedumpfile IMPLEMENTATION.
  init?(of bytes: DumpBytes) {
    let start = bytes.slice(0..<min(16, bytes.count)) ?? []
    guard let found = Self.allCases.first(where: { start.starts(with: $0.rawValue.utf8) }) else {
      return nil
    }
    self = found
  }

  /// What the file is, and how to get at its contents.
  var hint: String {
    switch self {
    case .apport:
      "a report of Apport: unpack it with apport-unpack FILE DIR, and show DIR/CoreDump"
    case .kernel, .flattenedKernel: "a dump of a kernel, which is no core file of a process"
    }
  }
}
