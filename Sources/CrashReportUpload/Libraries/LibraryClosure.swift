internal import CUploadTransfer
internal import PendingDumps
internal import Synchronization

/// A library with all libraries that it needs, as the dynamic linker would load them into this process.
///
/// The dynamic linker binds a name to its first definition in the program, in the libraries that the program was
/// started with, and in those that were loaded with RTLD_GLOBAL. The library's own definition comes last. So a program
/// or plugin that exports names of OpenSSL or zlib replaces functions of the libraries, and the process crashes, or a
/// compressed body is damaged. Such a library must not be loaded. RTLD_DEEPBIND would change this order, but it would
/// also separate the library from the program's allocator.
///
/// Source: ld.so(8); dlopen(3); System V ABI, chapter 5, Shared Object Dependencies.
struct LibraryClosure {
  private struct Member {
    let library: SharedLibrary
    let loaded: LoadedLibrary?
  }

  /// The paths of the libraries whose bindings were complete when they were loaded.
  private static let bound = Mutex<Set<String>>([])

  private var members: [Member] = []
  /// The loaded libraries of C and C++, whose functions programs may replace, as allocators and sanitizers do.
  private var runtime: Set<LoadedLibrary> = []
  /// The library itself.
  var library: SharedLibrary { members[0].library }
  /// The paths of all libraries except those of C and C++.
  var paths: [String] { members.map(\.library.path) }

  /// Finds the files of a library and of those that it needs, without loading them.
  init(of name: String) throws(LibraryObstacle) {
    guard pm_has_dynamic_linker() == 1 else { throw .staticExecutable }
    let search = LibrarySearch()
    var names = [(name: name, requester: SharedLibrary?.none)]
    var known: Set = [name]
    var next = 0
    while next < names.count {
      let (name, requester) = names[next]
      next += 1
      let loaded = LoadedLibrary(named: name)
      if Self.isOfRuntime(name) {
        if let loaded { runtime.insert(loaded) }
        continue
      }
      guard let library = search.library(named: name, loaded: loaded, neededBy: requester) else {
        throw .missing(name)
      }
      members.append(Member(library: library, loaded: loaded))
      for name in library.needed where known.insert(name).inserted { names.append((name, library)) }
    }
  }

  private static func isOfRuntime(_ name: String) -> Bool {
    let names = [
      "libc", "libm", "libmvec", "libpthread", "libdl", "librt", "libresolv", "libutil", "libanl",
      "libgcc_s", "libstdc++", "libatomic",
    ]
    return name.hasPrefix("ld-linux") || names.contains { name.hasPrefix($0 + ".so.") }
  }

  /// True if libraries that the program loads later cannot change the definitions to which names are bound, once these
  /// libraries have been loaded with RTLD_NOW.
  ///
  /// A library that another caller has loaded may bind a name only when the name is first used. Libraries that are
  /// loaded later come last in the dynamic linker's order, so they change nothing for a library whose own names are
  /// global.
  var keepsBindings: Bool {
    let bound = Self.bound.withLock(\.self)
    return members.allSatisfy { member in
      guard let loaded = member.loaded, !bound.contains(loaded.path) else { return true }
      return member.library.definitions.contains { definition in
        unsafe definition.name.withCString { unsafe LoadedLibrary(defining: $0) } == loaded
      }
    }
  }

  /// Notes that these libraries have been loaded with RTLD_NOW after this closure was made.
  func noteLoading() {
    if keepsBindings { Self.bound.withLock { $0.formUnion(paths) } }
  }

  /// Checks that each name that these libraries define would be bound to one of their own definitions.
  ///
  /// Libraries that are loaded already are checked too, because the program may have loaded them.
  ///
  /// - Throws: `LibraryObstacle.foreign` for the first name that would be bound to another file's definition.
  func checkBindings() throws(LibraryObstacle) {
    let own = runtime.union(members.compactMap(\.loaded))
    // In most processes, no other file defines a name that these libraries use, and nothing else is read.
    lazy var defined = Set(members.flatMap { $0.library.definitions.map(\.name) })
    var foreign = ForeignLibraries()
    for library in members.map(\.library) {
      for reference in library.references {
        let first = unsafe library.withName(of: reference) { unsafe LoadedLibrary(defining: $0) }
        guard case .some(let found?) = first, !own.contains(found) else { continue }
        let name = library.name(of: reference)
        // A name that none of the libraries defines belongs to the runtime, or is an optional hook.
        guard defined.contains(name) else { continue }
        let version = library.version(of: reference)
        if let file = foreign.definer(of: name, version: version, first: found, except: own) {
          throw .foreign(name: name, file: file, library: library.path)
        }
      }
    }
  }
}

/// The program and the loaded libraries that define a name of another library.
private struct ForeignLibraries {
  /// The versions of each definition, by path and name; nil for a file that cannot be read.
  private var definitions: [String: [String: [String?]]?] = [:]

  /// True if a file defines a name for a reference to a version.
  ///
  /// A program does not define a symbol that it has copied from a library, nor one of which it has only taken the
  /// address.
  private mutating func defines(_ path: String, _ name: String, _ version: String?) -> Bool {
    if definitions[path] == nil {
      definitions[path] = .some(
        SharedLibrary(path: path).map { library in
          Dictionary(grouping: library.definitions, by: \.name).mapValues { $0.map(\.version) }
        })
    }
    // A file that cannot be read may define the name.
    guard case .some(let names?) = definitions[path] else { return true }
    guard let versions = names[name] else { return false }
    return version == nil || versions.contains { $0 == nil || $0 == version }
  }

  /// The path of the file to whose definition a reference would be bound; nil if it would be bound to none of them.
  ///
  /// - Parameter first: the first definition of the name, whatever its version.
  mutating func definer(
    of name: String, version: String?, first: LoadedLibrary, except own: Set<LoadedLibrary>
  ) -> String? {
    if defines(first.path, name, version) { return first.path }
    // The dynamic linker takes the next definition that has the right version or none. Which of the loaded libraries are
    // global is not known here.
    let ownPaths = Set(own.map(\.path))
    return LoadedLibrary.allPaths.first {
      !ownPaths.contains($0) && LoadedLibrary.isDefined(name, in: $0) && defines($0, name, version)
    }
  }
}
