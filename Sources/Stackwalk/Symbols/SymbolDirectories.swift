internal import Glibc

/// The directories that a user names for files of modules.
///
/// A file in one of them is found by its build ID, whatever its name is; each directory is listed once, if no file
/// was found by name.
package final class SymbolDirectories: ExpressibleByArrayLiteral {
  package let paths: [String]
  /// The most files of a directory that are examined.
  private static let maximumFileCount = 1024
  private lazy var files: [[UInt8]: [String]] = list()

  package init(_ paths: [String]) { self.paths = paths }

  package convenience init(arrayLiteral paths: String...) { self.init(paths) }

  /// Finds the files with a build ID: a module, its debug file, or both; none for an ID that is too short to
  /// distinguish builds.
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
