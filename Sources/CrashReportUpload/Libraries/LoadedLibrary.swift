internal import CUploadTransfer
internal import PendingDumps

/// A library that is loaded, or the program itself.
struct LoadedLibrary: Hashable {
  /// What distinguishes it from all others that are loaded.
  private let identity: Int
  /// The path as the dynamic linker has it; that of the program as the kernel has it.
  let path: String

  private init?(_ loaded: pm_loaded) {
    guard let identity = unsafe loaded.identity else { return nil }
    self.identity = Int(bitPattern: identity)
    let path = unsafe String(cString: loaded.path)
    self.path = path.isEmpty ? SystemFile.programPath ?? "the program" : path
  }

  /// Finds a library by the name that others need it by; nil if it is not loaded.
  init?(named name: String) {
    unsafe self.init(pm_loaded_library(name))
  }

  /// Finds the first definition of a name in the program and in the libraries whose names are global; nil if none of
  /// them defines the name.
  init?(defining name: UnsafePointer<CChar>) {
    unsafe self.init(pm_global_definition(name))
  }

  static func == (left: Self, right: Self) -> Bool { left.identity == right.identity }

  func hash(into hasher: inout Hasher) { hasher.combine(identity) }

  /// True if the library that was loaded from a path defines a name itself.
  static func isDefined(_ name: String, in path: String) -> Bool {
    unsafe pm_library_defines(path, name) == 1
  }

  /// The paths of all libraries that are loaded.
  static var allPaths: [String] { unsafe PathList.collect { unsafe pm_loaded_libraries($0, $1) } }
}

/// Collects the paths that a function of C passes to its callback.
final class PathList {
  private var paths: [String] = []

  static func collect(
    _ call: (
      @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>) -> Void,
      UnsafeMutableRawPointer
    ) -> Void
  ) -> [String] {
    let list = PathList()
    withExtendedLifetime(list) {
      unsafe call(
        { context, path in
          guard let context = unsafe context else { return }
          let list = unsafe Unmanaged<PathList>.fromOpaque(context).takeUnretainedValue()
          unsafe list.paths.append(String(cString: path))
        }, Unmanaged.passUnretained(list).toOpaque())
    }
    return list.paths
  }
}
