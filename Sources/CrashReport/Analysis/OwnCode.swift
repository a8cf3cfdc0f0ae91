package import ProcessSnapshot
package import Stackwalk
internal import Synchronization

/// Distinguishes the program's own code from its dependencies, the system's and Swift's libraries, and
/// compiler-generated code.
///
/// If debug information has the source file of a frame, it decides before names do. The program's own modules are the
/// executable and the libraries next to it; other libraries, except the toolchain's, count with their Swift code,
/// wherever they are installed.
package struct OwnCode: Sendable {
  private let modules: [ModuleSnapshot]
  /// Whether each module, by index, is the program's own.
  private let areOwn: [Bool]
  /// The indices of modules with known debug information.
  private let withLines: Set<Int>
  /// True if the program's own files are known not to be in a directory named `checkouts`.
  private let isOutsideCheckouts: Bool
  /// True if Swift's runtime is a separate module, and no other module contains its C functions.
  private let isRuntimeShared: Bool
  private let functions = KnownFunctions()

  /// - Parameters:
  ///   - snapshot: the process.
  ///   - frames: the frames to classify, which show what is known about their modules.
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

  /// The index of the executable among the modules: found by its path, otherwise the first that is not a library.
  private static func executable(of snapshot: ProcessSnapshot) -> Int? {
    let modules = snapshot.modules
    let path = snapshot.process.executablePath
    return modules.firstIndex { $0.path == path && !RuntimeCode.isLibrary($0.name) }
      ?? modules.firstIndex { !isLibraryName($0.name) }
  }

  private static func isLibraryName(_ name: String) -> Bool {
    name.hasSuffix(".so") || name.contains(".so.") || name.hasPrefix("[")
  }

  /// The executable's directory; nil for a directory with the files of several programs.
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
    /// A package that the program depends on, Swift's or the system's libraries, or the handler.
    case other
    /// No source file, or a generated one.
    case unknown
  }

  private static func isWritten(_ file: String) -> Bool { !file.hasPrefix("<") && !file.isEmpty }

  private func source(of frame: StackFrame) -> Source {
    guard let file = frame.sourceLocation?.file else {
      // The libraries of a toolchain have no debug information, but the program has.
      return frame.moduleIndex.map(withLines.contains) ?? false ? .other : .unknown
    }
    guard Self.isWritten(file) else { return .unknown }
    let isDependency =
      Self.checkouts.contains(where: file.contains)
      || isOutsideCheckouts && file.contains("/checkouts/")
    return isDependency || Self.isOthers(file) ? .other : .own
  }

  /// The directories in which SwiftPM and Xcode keep a program's dependencies; `--scratch-path` gives
  /// the first of the two another name.
  private static let checkouts = ["/.build/checkouts/", "/SourcePackages/checkouts/"]

  private static func isOthers(_ file: String) -> Bool {
    otherSources.contains(where: file.contains)
  }

  /// Directories of Swift's own sources, of headers and of the handler's C code.
  private static let otherSources = [
    "/swift/stdlib/", "/swift-corelibs-", "/swift-foundation", "/usr/include/", "/usr/lib/",
    "/lib/swift/", "/Sources/CSignalSafe/", "/Sources/CThreadStacks/", "/Sources/CProcessEnds/",
  ]

  // MARK: - Frames

  /// True for a module of the program's own.
  func contains(_ module: ModuleSnapshot) -> Bool {
    modules.firstIndex { $0.address == module.address }.map { areOwn[$0] } ?? false
  }

  /// True for a call of the program's own code that has a name.
  func contains(_ frame: StackFrame) -> Bool {
    guard let function = frame.function, isInOwnModule(frame) || isSwiftLibrary(frame) else {
      return false
    }
    let source = source(of: frame)
    if case .other = source { return false }
    let isFileOwn = if case .own = source { true } else { false }
    return functions.areOwn(function, isCNameOwn: isFileOwn || isRuntimeShared)
  }

  /// True for the program's own code, with or without a name.
  func isInOwnModule(_ frame: StackFrame) -> Bool {
    frame.moduleIndex.map { areOwn.indices.contains($0) && areOwn[$0] } ?? false
  }

  /// True for a Swift function in a library that is not next to the executable.
  private func isSwiftLibrary(_ frame: StackFrame) -> Bool {
    guard let name = frame.linkageName, name.hasPrefix("$s") || name.hasPrefix("$S"),
      let module = modules.module(of: frame)
    else { return false }
    return !RuntimeCode.isLibrary(module.name)
  }

  /// True for a call that the report emphasizes: own code, or code of an own module without names.
  package func standsOut(_ frame: StackFrame) -> Bool {
    frame.function == nil ? isInOwnModule(frame) : contains(frame)
  }

  // MARK: - Places

  /// The innermost call of the program's own code, such as "Basket.firstItem(of:) at main.swift:28"; nil if none has
  /// a name.
  ///
  /// - Parameter thrown: the throw of an uncaught error, used if `frames` have only the program's first function.
  func place(in frames: [StackFrame], thrown: [StackFrame] = []) -> String? {
    let own = placeFrame(in: frames)
    if let own, !isEntry(own) { return line(of: own) }
    return (placeFrame(in: thrown) ?? own).map(line)
  }

  /// The same, and without a call of the program's own code the innermost one of a dependency in its module, or the
  /// offset in a module without names.
  func crashPlace(in frames: [StackFrame], thrown: [StackFrame] = []) -> String? {
    if let own = place(in: frames, thrown: thrown) { return own }
    let other = nameless(in: frames) ?? frames.first { isInOwnModule($0) && isOfDependency($0) }
    return other.map(line)
  }

  /// The innermost call without a name: of any module if the stack has no name at all, otherwise of an own one.
  func nameless(in frames: [StackFrame]) -> StackFrame? {
    // A jump to nowhere has no code of its own.
    let frames = frames.filter { $0.moduleIndex != nil }
    let isNamed = frames.contains { $0.function != nil }
    return frames.first { $0.function == nil && (!isNamed || isInOwnModule($0)) }
  }

  /// True for a call that is neither of Swift's or the system's libraries nor made by the compiler.
  func isOfDependency(_ frame: StackFrame) -> Bool {
    guard let function = frame.function, let module = modules.module(of: frame),
      !RuntimeCode.isLibrary(module.name)
    else { return false }
    return functions.areOwn(function, isCNameOwn: false) && isWritten(frame) && !isEntry(frame)
  }

  /// The innermost own call of written code, otherwise the innermost one that the compiler generated from a
  /// declaration of the program; an entry function does not count.
  private func placeFrame(in frames: [StackFrame]) -> StackFrame? {
    let own = frames.filter(contains)
    return own.first { isWritten($0) && !isEntry($0) } ?? own.first { !isEntry($0) }
      ?? own.first(where: isWritten)
  }

  private func isEntry(_ frame: StackFrame) -> Bool {
    frame.function.map { SignatureName($0).isEntry } ?? false
  }

  /// True unless debug information says that the compiler generated the code.
  private func isWritten(_ frame: StackFrame) -> Bool {
    frame.sourceLocation.map { Self.isWritten($0.file) } ?? true
  }

  /// A call as text, such as "Basket.firstItem(of:) at main.swift:28", or "libshop.so+0x1234" without a name.
  func line(of frame: StackFrame) -> String {
    guard let function = frame.function else {
      return modules.module(of: frame)?.text(of: frame.address) ?? frame.address.description
    }
    let name = FunctionName.readable(function, file: frame.sourceLocation?.file)
    guard let location = frame.sourceLocation, Self.isWritten(location.file) else { return name }
    let file = location.file.split(separator: "/").last.map { String($0) } ?? location.file
    return "\(name) at \(file)" + (location.line.map { ":\($0)" } ?? "")
  }
}

extension CrashReport {
  /// Recognizes frames of the program's own code in the report.
  package var ownCode: OwnCode {
    let frames = threads.lazy.flatMap { $0.frames + ($0.task?.frames ?? []) }
    return OwnCode(of: snapshot, frames: Array(frames) + (thrown?.frames ?? []))
  }
}

/// Caches which functions are the program's own, because a hundred threads have the same few hundred names.
private final class KnownFunctions: Sendable {
  private struct Question: Hashable {
    let function: String
    let isCNameOwn: Bool
  }

  private let known = Mutex<[Question: Bool]>([:])

  func areOwn(_ function: String, isCNameOwn: Bool) -> Bool {
    let question = Question(function: function, isCNameOwn: isCNameOwn)
    return known.withLock { known in
      if let isOwn = known[question] { return isOwn }
      let isOwn =
        !CompilerMade.isFunction(function)
        && !RuntimeCode.isFunction(function, isCNameOwn: isCNameOwn)
      known[question] = isOwn
      return isOwn
    }
  }
}
