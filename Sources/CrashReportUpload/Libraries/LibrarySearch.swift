internal import CUploadTransfer
internal import IntermediateDump
internal import PendingDumps

/// Finds the file that the dynamic linker would load for a library's name, without loading it.
///
/// Variants for newer processors (`glibc-hwcaps`) define the same names, so they are not searched for.
///
/// Source: ld.so(8); glibc `sysdeps/generic/dl-cache.h`.
@safe struct LibrarySearch {
  /// The directories before and after the cache, for a library that the program loads and for one that a library needs.
  private let ofProgram: [String]
  private let ofLibraries: [String]
  private let last: [String]
  private let cached: [String: String]

  init() {
    let program = Self.directories(PM_SEARCH_FOR_PROGRAM)
    let libraries = Self.directories(PM_SEARCH_FOR_LIBRARY)
    // The system's directories are the last ones.
    let count = libraries.reversed().prefix(while: Self.isOfSystem).count
    ofProgram = Array(program.dropLast(count))
    ofLibraries = Array(libraries.dropLast(count))
    last = libraries.suffix(count)
    cached = Self.readCache()
  }

  /// Reads the file that would be loaded for a name.
  ///
  /// - Parameters:
  ///   - loaded: the library, if it is loaded already.
  ///   - library: the library that needs it; nil if the program loads it.
  /// - Returns: nil if there is no such library, or if it cannot be read.
  func library(
    named name: String, loaded: LoadedLibrary?, neededBy library: SharedLibrary?
  ) -> SharedLibrary? {
    if let loaded { return SharedLibrary(path: loaded.path) }
    if name.contains("/") { return SharedLibrary(path: name) }
    let before = library.map { $0.rPath + ofLibraries + $0.runPath } ?? ofProgram
    let paths =
      before.map { "\($0)/\(name)" } + [cached[name]].compactMap(\.self)
      + last.map { "\($0)/\(name)" }
    // The dynamic linker passes over files for another processor, too.
    return paths.lazy.compactMap(SharedLibrary.init(path:)).first
  }

  private static func directories(_ whose: Int) -> [String] {
    unsafe PathList.collect { unsafe pm_search_directories(Int32(whose), $0, $1) }
  }

  private static func isOfSystem(_ directory: String) -> Bool {
    let parts = directory.split(separator: "/")
    let rest = parts.first == "usr" ? parts.dropFirst() : parts[...]
    return rest.first == "lib64" || rest.first == "lib" && rest.count <= 2
  }

  // MARK: - The cache

  /// The flags of a library for glibc on this processor.
  private static var flags: UInt32 {
    #if arch(x86_64)
      0x0303
    #else
      0x0A03
    #endif
  }

  /// The paths by name in /etc/ld.so.cache; empty if it cannot be read.
  private static func readCache() -> [String: String] {
    let magic = Array("glibc-ld.so.cache1.1".utf8)
    guard let bytes = SystemFile.bytes("/etc/ld.so.cache", limit: 16 << 20) else { return [:] }
    // Older versions of ldconfig write another table before this one.
    var start = 0
    if !bytes.starts(with: magic) {
      guard let count = bytes.littleEndian(at: 12, as: UInt32.self) else { return [:] }
      start = (16 + Int(count) * 12 + 7) & ~7
    }
    let table = bytes.dropFirst(start)
    guard table.starts(with: magic), let count = table.littleEndian(at: 20, as: UInt32.self) else {
      return [:]
    }
    func text(_ offset: UInt32) -> String {
      String(decoding: table.dropFirst(Int(offset)).prefix { $0 != 0 }, as: UTF8.self)
    }
    var paths: [String: String] = [:]
    for entry in stride(from: 48, to: 48 + Int(count) * 24, by: 24) {
      guard let flags = table.littleEndian(at: entry, as: UInt32.self),
        let name = table.littleEndian(at: entry + 4, as: UInt32.self),
        let path = table.littleEndian(at: entry + 8, as: UInt32.self)
      else { break }
      guard flags == Self.flags else { continue }
      let text = (text(name), text(path))
      if paths[text.0] == nil { paths[text.0] = text.1 }
    }
    return paths
  }
}
