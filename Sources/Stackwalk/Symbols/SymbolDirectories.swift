internal import Glibc
internal import ProcessSnapshot

/// The directories that a user has named for the search for modules' files.
///
/// A file in such a directory is found by its build ID, whatever its name is. The entries of the directories are read
/// only if the search by name did not find both code and debug information, and then only once.
package final class SymbolDirectories: ExpressibleByArrayLiteral {
  package let paths: [String]
  /// The files of the process that wrote the dump, if it still runs.
  private let process: ProcessFiles?
  /// The maximum number of files that are examined in one directory.
  private static let maximumFileCount = 1024
  private lazy var files: [[UInt8]: [String]] = list()

  package init(_ paths: [String], process: ProcessFiles? = nil) {
    (self.paths, self.process) = (paths, process)
  }

  package convenience init(arrayLiteral paths: String...) { self.init(paths) }

  /// The paths at which a module's file was when the dump was written, best first.
  func ownPaths(of module: ModuleSnapshot) -> [String] {
    (process?.paths(of: module) ?? []) + [module.path]
  }

  /// Finds the files with a build ID: the module's file, its debug file, or both.
  ///
  /// No files are found for an ID that is too short to distinguish builds.
  func files(of buildID: [UInt8]) -> [String] { buildID.count > 1 ? files[buildID] ?? [] : [] }

  private func list() -> [[UInt8]: [String]] {
    var found: [[UInt8]: [String]] = [:]
    for directory in paths {
      for name in Self.names(in: directory) {
        let path = "\(directory)/\(name)"
        guard let image = try? ELFImage(path: path) else { continue }
        found[image.elf.buildID, default: []].append(path)
      }
    }
    return found
  }

  private static func names(in directory: String) -> [String] {
    guard let stream = unsafe opendir(directory) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while names.count < maximumFileCount, let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }
}
