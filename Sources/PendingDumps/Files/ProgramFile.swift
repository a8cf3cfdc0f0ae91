internal import CSignalSafe
internal import IntermediateDump

/// The file of the running program.
package enum ProgramFile {
  /// The path as the kernel shows it, with a trailing " (deleted)" if the file has been deleted; nil if `/proc` does not
  /// show it.
  ///
  /// If the program was started by running the dynamic linker, the kernel shows the dynamic linker as the executable,
  /// so the path is then that of the mapping with the program's headers.
  package static var path: String? {
    let headers = pm_program_run_by_loader()
    guard headers != 0 else { return SystemFile.target("/proc/thread-self/exe") }
    return SystemFile.text("/proc/thread-self/maps").flatMap { path(of: headers, inMaps: $0) }
  }

  /// The path of the file that is mapped at an address; nil if none is.
  ///
  /// Source: proc_pid_maps(5).
  static func path(of address: UInt64, inMaps text: String) -> String? {
    for line in text.lazyLines {
      let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
      guard let limits = fields.first?.split(separator: "-"), limits.count == 2,
        let start = UInt64(digits: limits[0], radix: 16),
        let end = UInt64(digits: limits[1], radix: 16), (start..<max(start, end)).contains(address)
      else { continue }
      let path = fields.count == 6 ? fields[5].drop { $0 == " " } : ""
      return path.hasPrefix("/") ? String(path) : nil
    }
    return nil
  }
}
