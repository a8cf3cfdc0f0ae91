internal import IntermediateDump
package import ProcessSnapshot

/// The files that a running process has mapped, opened through `/proc`.
///
/// The path of a mapped file may lead to another file: the file may have been replaced while the process runs, or the
/// process may be in another mount namespace.
///
/// Source: proc_pid_exe(5), proc_pid_map_files(5), proc_pid_root(5).
package struct ProcessFiles: Sendable {
  private let directory: String
  private let executable: String
  private let mappings: [MemoryMapping]

  /// - Parameters:
  ///   - directory: the directory of the process in `/proc`.
  ///   - executable: the target of the link `exe` in this directory.
  ///   - maps: the text of the file `maps` in this directory.
  package init(directory: String, executable: String?, maps: [UInt8]) {
    self.directory = directory
    self.executable = executable ?? ""
    mappings = MemoryMapping.mappings(parsing: maps[...])
  }

  /// Lists the paths at which a module's file can be opened, best first; empty if the process has not mapped a file
  /// with the module's path at the module's address.
  ///
  /// The directory `map_files` needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
  package func paths(of module: ModuleSnapshot) -> [String] {
    guard let mapping = mappings.element(containing: module.address, by: { $0.range }),
      ModuleSnapshot.path(withoutMark: mapping.path).path == module.path
    else { return [] }
    let (start, end) = (mapping.start.value.hexadecimal(), mapping.end.value.hexadecimal())
    return (mapping.path == executable ? ["\(directory)/exe"] : [])
      + ["\(directory)/map_files/\(start)-\(end)", "\(directory)/root\(mapping.path)"]
  }
}
