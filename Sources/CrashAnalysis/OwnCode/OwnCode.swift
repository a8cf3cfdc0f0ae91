package import ProcessSnapshot
package import Stackwalk
internal import Synchronization

/// Distinguishes the program's own code from dependencies, from Swift's and the system's libraries, and from
/// compiler-generated code.
///
/// If debug information shows that a frame's source file belongs to a dependency, to Swift or to the system, the frame
/// is not in the program's own code. Neither is a frame without a source file, if other frames of its module have one.
/// For any other frame, the path of the frame's module and the name of its function decide. The program's own modules
/// are the executable and the libraries in its directory or below, unless several programs share this directory
/// (`/usr/bin/`). Swift code in any other library, except the libraries of Swift and the system, also counts as the
/// program's own, wherever the library is installed.
package struct OwnCode: Sendable {
  private let modules: [ModuleSnapshot]
  /// For each module index, true if the module is one of the program's own.
  private let areOwn: [Bool]
  /// The indices of modules that have at least one frame with a source file.
  private let withLines: Set<Int>
  /// True if the program's own files are known not to be in a directory named `checkouts`, so that files in such a
  /// directory belong to dependencies.
  private let isOutsideCheckouts: Bool
  /// True if Swift's runtime is loaded as a shared library, so that no other module contains the runtime's C
  /// functions.
  private let isRuntimeShared: Bool
  private let functions = KnownFunctions()

  /// - Parameters:
  ///   - snapshot: the process.
  ///   - frames: the frames to classify; they also show for which modules there is debug information.
  package init(of snapshot: ProcessSnapshot, frames: some Sequence<StackFrame>) {
    let modules = snapshot.modules
    let executable = Self.executable(of: snapshot)
    let directory = executable.flatMap { Self.directory(of: modules[$0].path) }
    let areOwn = modules.indices.map { index in
      index == executable
        || directory.map(modules[index].path.hasPrefix) ?? false
          && !RuntimeCode.isLibrary(modules[index].name)
    }
    isRuntimeShared = modules.contains { $0.name.hasPrefix("libswiftCore.so") }
    var withLines: Set<Int> = []
    var isOutside = false
    for frame in frames {
      guard let file = frame.sourceLocation?.file, let module = frame.moduleIndex else { continue }
      withLines.insert(module)
      isOutside =
        isOutside
        || areOwn.indices.contains(module) && areOwn[module] && Self.isWritten(file)
          && !Self.isOthers(file) && !file.contains("/checkouts/")
    }
    self.modules = modules
    self.areOwn = areOwn
    self.withLines = withLines
    isOutsideCheckouts = isOutside
  }

  // MARK: - Modules

  /// The index of the executable among the modules.
  ///
  /// The executable is found by its path; otherwise it is the first module that is not a library.
  private static func executable(of snapshot: ProcessSnapshot) -> Int? {
    let modules = snapshot.modules
    let path = snapshot.process.executablePath
    return modules.firstIndex { $0.path == path && !RuntimeCode.isLibrary($0.name) }
      ?? modules.firstIndex { !isLibraryName($0.name) }
  }

  private static func isLibraryName(_ name: String) -> Bool {
    name.hasSuffix(".so") || name.contains(".so.") || name.hasPrefix("[")
  }

  /// The executable's directory; nil if the path has none, or for one such as `/usr/bin/` that several programs share.
  private static func directory(of path: String) -> Substring? {
    guard let slash = path.lastIndex(of: "/") else { return nil }
    let directory = path[...slash]
    return sharedDirectories.contains(String(directory)) ? nil : directory
  }

  private static let sharedDirectories: Set = [
    "/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/opt/", "/srv/", "/usr/", "/usr/bin/",
    "/usr/sbin/",
    "/usr/lib/", "/usr/lib64/", "/usr/libexec/", "/usr/local/", "/usr/local/bin/",
    "/usr/local/lib/",
  ]

  // MARK: - Source files

  private enum Source {
    case own
    /// The file belongs to a dependency, to Swift's or the system's libraries, or to the handler; or the frame has no
    /// source file although its module has debug information.
    case other
    /// The source file is generated; or the frame has no source file, and no other frame of its module has one.
    case unknown
  }

  private static func isWritten(_ file: String) -> Bool { !file.hasPrefix("<") && !file.isEmpty }

  private func source(of frame: StackFrame) -> Source {
    guard let file = frame.sourceLocation?.file else {
      // If a module has debug information, code in it without a source file is assumed to come from the toolchain's
      // libraries.
      return frame.moduleIndex.map(withLines.contains) ?? false ? .other : .unknown
    }
    guard Self.isWritten(file) else { return .unknown }
    let isDependency =
      Self.checkouts.contains(where: file.contains)
      || isOutsideCheckouts && file.contains("/checkouts/")
    return isDependency || Self.isOthers(file) ? .other : .own
  }

  /// The directories in which SwiftPM, Xcode and Cargo keep a program's dependencies.
  ///
  /// With the option `--scratch-path`, SwiftPM does not use `.build`; `isOutsideCheckouts` is for such builds.
  private static let checkouts = [
    "/.build/checkouts/", "/SourcePackages/checkouts/", "/.cargo/registry/src/",
    "/.cargo/git/checkouts/",
  ]

  private static func isOthers(_ file: String) -> Bool {
    otherSources.contains(where: file.contains)
  }

  /// Parts of the paths of source files that are not the program's own: Swift's sources, headers and the handler's C
  /// code.
  private static let otherSources = [
    "/swift/stdlib/", "/swift-corelibs-", "/swift-foundation", "/usr/include/", "/usr/lib/",
    "/lib/swift/", "/rustc/", "/lib/rustlib/src/", "/Sources/CSignalSafe/",
    "/Sources/CSignalMasks/", "/Sources/CThreadStacks/",
    "/Sources/CProcessEnds/", "/Sources/CSwiftDemangle/", "/Sources/CUploadTransfer/",
  ]

  // MARK: - Frames

  /// True if a module is one of the program's own.
  package func contains(_ module: ModuleSnapshot) -> Bool {
    modules.firstIndex { $0.address == module.address }.map { areOwn[$0] } ?? false
  }

  /// True if a frame is in the program's own code and has a name.
  func contains(_ frame: StackFrame) -> Bool {
    guard let function = frame.function, isInOwnModule(frame) || isSwiftLibrary(frame) else {
      return false
    }
    let source = source(of: frame)
    if case .other = source { return false }
    let isFileOwn = if case .own = source { true } else { false }
    return functions.areOwn(
      function, linkageName: frame.linkageName, isCNameOwn: isFileOwn || isRuntimeShared)
  }

  /// True if a frame is in one of the program's own modules, whether or not its function's name is known.
  func isInOwnModule(_ frame: StackFrame) -> Bool {
    frame.moduleIndex.map { areOwn.indices.contains($0) && areOwn[$0] } ?? false
  }

  /// True for a Swift function in any module except the libraries of Swift and the system.
  private func isSwiftLibrary(_ frame: StackFrame) -> Bool {
    guard let name = frame.linkageName, name.hasPrefix("$s") || name.hasPrefix("$S"),
      let module = modules.module(of: frame)
    else { return false }
    return !RuntimeCode.isLibrary(module.name)
  }

  /// True for a call that the report emphasizes: the program's own code, or code without a name in one of the
  /// program's modules.
  package func isEmphasized(_ frame: StackFrame) -> Bool {
    frame.function == nil ? isInOwnModule(frame) : contains(frame)
  }

  // MARK: - Places

  /// The innermost call of the program's own code, such as "Basket.firstItem(of:) at main.swift:28"; nil if no such
  /// call has a name.
  ///
  /// - Parameter thrown: the call stack at the throw of the uncaught error. These frames are used if `frames`
  ///   contains no function of the program's own code, or only the first function of the program or a thread.
  package func place(in frames: [StackFrame], thrown: [StackFrame] = []) -> String? {
    let own = placeFrame(in: frames)
    if let own, !isEntry(own) { return line(of: own) }
    return (placeFrame(in: thrown) ?? own).map(line)
  }

  /// The result of `place(in:thrown:)`, or a replacement if that result is nil.
  ///
  /// The replacement is the innermost call without a name, as an offset in its module. If there is no such call, the
  /// replacement is the innermost call of a dependency that is linked into one of the program's own modules.
  func crashPlace(in frames: [StackFrame], thrown: [StackFrame] = []) -> String? {
    if let own = place(in: frames, thrown: thrown) { return own }
    let other = nameless(in: frames) ?? frames.first { isInOwnModule($0) && isOfDependency($0) }
    return other.map(line)
  }

  /// The innermost call of the program's own code in a suspended task, and the innermost caller of this call in the
  /// program's own code.
  ///
  /// Compiler-generated callers, callers with the same text as the call, and the first function of the program or a
  /// thread are skipped.
  ///
  /// If there is no call of the program's own code, the place is that of `crashPlace(in:thrown:)`, and the caller is
  /// nil.
  package func taskPlaces(in frames: [StackFrame]) -> (place: String?, caller: String?) {
    guard let innermost = placeFrame(in: frames), let index = frames.firstIndex(of: innermost)
    else { return (crashPlace(in: frames), nil) }
    let place = line(of: innermost)
    let callers = frames[(index + 1)...].filter { contains($0) && isWritten($0) && !isEntry($0) }
    return (place, callers.lazy.map(line).first { $0 != place })
  }

  /// The innermost call without a name.
  ///
  /// If no call on the stack has a name, the call can be in any module. Otherwise, it is in one of the program's own
  /// modules.
  package func nameless(in frames: [StackFrame]) -> StackFrame? {
    // After a jump to an invalid address, the innermost frame is in no module, so frames without a module are
    // skipped.
    let frames = frames.filter { $0.moduleIndex != nil }
    let isNamed = frames.contains { $0.function != nil }
    return frames.first { $0.function == nil && (!isNamed || isInOwnModule($0)) }
  }

  /// True for a call of a named function of a dependency or of the program.
  ///
  /// The result is false for functions of Swift's or the system's libraries, for functions that the compiler generated,
  /// and for the first function of the program or a thread.
  package func isOfDependency(_ frame: StackFrame) -> Bool {
    guard let function = frame.function, let module = modules.module(of: frame),
      !RuntimeCode.isLibrary(module.name)
    else { return false }
    return functions.areOwn(function, linkageName: frame.linkageName, isCNameOwn: false)
      && isWritten(frame) && !isEntry(frame)
  }

  /// The innermost call of the program's own code; source code is preferred to compiler-generated code.
  ///
  /// The first function of a program or a thread is used only if there is no other function.
  private func placeFrame(in frames: [StackFrame]) -> StackFrame? {
    let own = frames.filter(contains)
    return own.first { isWritten($0) && !isEntry($0) } ?? own.first { !isEntry($0) }
      ?? own.first(where: isWritten)
  }

  private func isEntry(_ frame: StackFrame) -> Bool {
    frame.function.map { SignatureName($0).isEntry } ?? false
  }

  /// True unless debug information shows that the compiler generated the code.
  private func isWritten(_ frame: StackFrame) -> Bool {
    frame.sourceLocation.map { Self.isWritten($0.file) } ?? true
  }

  /// A call as text, such as "Basket.firstItem(of:) at main.swift:28", or "libshop.so+0x1234" for a call without a
  /// name.
  package func line(of frame: StackFrame) -> String {
    guard let function = frame.function else {
      return modules.module(of: frame)?.text(of: frame.address) ?? frame.address.description
    }
    let name = FunctionName.readable(function, file: frame.sourceLocation?.file)
    guard let location = frame.sourceLocation, Self.isWritten(location.file) else { return name }
    let file = location.file.split(separator: "/").last.map { String($0) } ?? location.file
    // An optimized copy of a function of another module can have lost its lines.
    guard Self.isWritten(file) else { return name }
    return "\(name) at \(file)" + (location.line.map { ":\($0)" } ?? "")
  }
}

/// Caches which functions are the program's own, because the stacks of many threads contain the same few hundred
/// names.
private final class KnownFunctions: Sendable {
  private struct Question: Hashable {
    let function: String
    let isRust: Bool
    let isCNameOwn: Bool
  }

  private let known = Mutex<[Question: Bool]>([:])

  func areOwn(_ function: String, linkageName: String?, isCNameOwn: Bool) -> Bool {
    // Names of Rust and C++ look alike, but their libraries have different namespaces.
    let isRust = linkageName.map(RustCode.isName) ?? false
    let question = Question(function: function, isRust: isRust, isCNameOwn: isCNameOwn)
    return known.withLock { known in
      if let isOwn = known[question] { return isOwn }
      let isOwn =
        isRust
        ? !RustCode.isLibrary(function)
        : !CompilerMade.isFunction(function)
          && !RuntimeCode.isFunction(function, isCNameOwn: isCNameOwn)
      known[question] = isOwn
      return isOwn
    }
  }
}
