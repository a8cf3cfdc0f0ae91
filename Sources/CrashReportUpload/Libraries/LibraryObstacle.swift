/// Why a library cannot be loaded into this process.
enum LibraryObstacle: Error, Equatable, CustomStringConvertible {
  /// The library, or one that it needs, is not installed or cannot be read.
  case missing(String)
  /// The library lacks a function.
  case tooOld(String)
  /// `library` would use the definition of a name in `file` instead of the one in a library that it needs.
  case foreign(name: String, file: String, library: String)
  /// The program is a static executable, whose C library differs from the one that would be loaded.
  case staticExecutable

  var description: String {
    switch self {
    case .missing(let name): "\(name), which uploads need, is not installed or cannot be read"
    case .tooOld(let name): "\(name) is older than version 7.68, which uploads need"
    case .foreign(let name, let file, let library):
      "libcurl is not loaded, because \(library) would call '\(name)' in \(file), which exports that name"
    case .staticExecutable: "a static executable cannot load libcurl"
    }
  }
}
