internal import IntermediateDump
package import ProcessSnapshot
package import Stackwalk
internal import Synchronization

/// Groups crashes of one cause under one line of text.
///
/// The signal, then the names of the innermost calls of the program's own code. No addresses, which
/// change with every run; no lines and numbers of closures, which change with every build, nor offsets
/// but where there are no names; nothing that differs between threads or with what was inlined. The
/// rules, and what they cannot do, are in `Docs/Signatures.md`.
package struct Signature: Sendable {
  private static let frameCount = 3
  /// Functions of a recursion that are named.
  private static let recursionCount = 8

  private let modules: [ModuleSnapshot]
  /// By file name.
  private let systemModules: Set<String>
  private let functions = OwnFunctions()

  /// - Parameter modules: those that the frames lie in.
  package init(_ modules: [ModuleSnapshot]) {
    self.modules = modules
    systemModules = Set(modules.filter { SystemCode.isModule(path: $0.path) }.map(\.name))
  }

  /// - Parameters:
  ///   - trace: the crashing thread's.
  ///   - finding: the cause, by which a stack overflow is known.
  ///   - thrown: the throw of an error that nobody caught, for a stack that has only `main` left.
  static func text(
    of snapshot: ProcessSnapshot, trace: StackTrace, _ finding: Finding?,
    thrown: [StackFrame] = []
  ) -> String? {
    if let end = snapshot.end { return end.kind.map { "end | \($0.word)" } ?? "end" }
    guard let kind = kind(of: snapshot) else { return nil }
    if let reason = snapshot.request?.reason {
      return "\(kind) | " + reason.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
    let signature = Signature(snapshot.modules)
    if case .stackOverflow = finding?.cause, let recursion = trace.recursion,
      let names = signature.names(of: recursion, in: trace.frames)
    {
      return "\(kind) | recursion | " + names.joined(separator: ", ")
    }
    var (names, isTelling) = signature.names(of: trace.frames)
    if !isTelling, !thrown.isEmpty {
      let found = signature.names(of: thrown)
      if found.areTelling { (names, isTelling) = found }
    }
    let cause = snapshot.request?.errorType ?? (isTelling ? nil : finding?.kind)
    return ([kind] + (cause.map { [$0] } ?? []) + names).joined(separator: " | ")
  }

  /// The signal; "hang" or "dump" where there was none; nil where it was lost.
  private static func kind(of snapshot: ProcessSnapshot) -> String? {
    if let request = snapshot.request { return request.kind == .hang ? "hang" : "dump" }
    return snapshot.exception?.signal.map(SignalNames.text)
  }

  /// True for a call of the program's own code that has a name.
  func isOwn(_ frame: StackFrame) -> Bool {
    guard let function = frame.function, isInOwnModule(frame) else { return false }
    return functions.contains(function)
  }

  /// True for code of the program's own, whether it has a name or not.
  func isInOwnModule(_ frame: StackFrame) -> Bool {
    modules.module(of: frame).map(isOwn) ?? false
  }

  func isOwn(_ module: ModuleSnapshot) -> Bool { !systemModules.contains(module.name) }

  /// True for a call that stands out: own, or of an own module that has no names.
  package func standsOut(_ frame: StackFrame) -> Bool {
    frame.function == nil ? isInOwnModule(frame) : isOwn(frame)
  }

  /// The innermost call of the program's own code, such as "Basket.firstItem(of:) at main.swift:28"; nil
  /// where none has a name.
  ///
  /// - Parameter thrown: the throw of an error that nobody caught; counts where `frames` have no more than
  ///   the program's first function.
  func place(in frames: [StackFrame], thrown: [StackFrame] = []) -> String? {
    let own = frames.first(where: isOwn)
    let isTelling = own?.function.map { !SignatureName($0).isEntry } ?? false
    let frame = isTelling ? own : thrown.first(where: isOwn) ?? own
    guard let frame, frame.function != nil else { return nil }
    return line(of: frame)
  }

  /// Such as "Basket.firstItem(of:) at main.swift:28"; "libshop.so+0x1234" where there is no name.
  func line(of frame: StackFrame) -> String {
    guard let function = frame.function else {
      return modules.module(of: frame)?.text(of: frame.address) ?? frame.address.description
    }
    let name = FunctionName.short(function)
    guard let location = frame.sourceLocation else { return name }
    let file = location.file.split(separator: "/").last.map { String($0) } ?? location.file
    return "\(name) at \(file)" + (location.line.map { ":\($0)" } ?? "")
  }

  /// The names of a stack, and whether they tell one crash from another of the program.
  private func names(of frames: [StackFrame]) -> (names: [String], areTelling: Bool) {
    // Inferred ones are missing where the files are.
    let frames = frames.filter { $0.trust != .tailCall }
    // A frame behind a gap or found by a scan may be left over from another call.
    let sure = Array(frames.prefix { $0.trust != .scan && $0.trust != .afterGap })
    for frames in [sure, frames] {
      let own = frames.filter(isOwn).compactMap(\.function).map(SignatureName.init)
      // The first function of a thread says nothing of the cause, unless there is nothing else.
      for names in [own.filter { !$0.isEntry }, own] where !names.isEmpty {
        return (Self.innermost(names.map(\.text)), names.contains { !$0.isEntry })
      }
    }
    // A program without names: an offset tells its crashes apart until it is built again.
    if let frame = frames.first(where: isInOwnModule), let module = modules.module(of: frame) {
      let offset = frame.address.wrappedDistance(above: module.address)
      return (["\(module.name)+\(Address(offset))"], false)
    }
    let system = frames.compactMap(\.function).filter { !SystemCode.isArtificial($0) }
    let names = Self.innermost(system.map { SignatureName($0).text })
    guard names.isEmpty else { return (names, true) }
    return (frames.first.flatMap { modules.module(of: $0) }.map { [$0.name] } ?? [], false)
  }

  /// The first few, of the same in a row one.
  private static func innermost(_ names: [String]) -> [String] {
    var parts: [String] = []
    for name in names where name != parts.last {
      parts.append(name)
      if parts.count == frameCount { break }
    }
    return parts
  }

  /// The functions that took turns until the stack was full.
  ///
  /// Chance decides which of them hit its end, and what it called then.
  private func names(of recursion: Recursion, in frames: [StackFrame]) -> [String]? {
    var depth = 0
    var names: Set<String> = []
    for frame in frames {
      // An inlined call comes before the frame that it is in, and has its number.
      let isInside = depth >= recursion.first && depth - recursion.first < recursion.count
      if isInside, frame.trust != .tailCall, isOwn(frame), let function = frame.function {
        names.insert(SignatureName(function).text)
      }
      if !frame.isInlined { depth += 1 }
      if depth - recursion.first >= recursion.period || names.count == Self.recursionCount { break }
    }
    return names.isEmpty ? nil : names.sorted()
  }
}

/// A function's name without what changes from build to build.
struct SignatureName: Sendable, Equatable {
  let text: String

  /// Takes a demangled name, in which everything that a reader does not need is left out already
  /// by `FunctionName`.
  init(_ function: String) {
    var name = FunctionName.short(function)
    // A closure counts as the function around it: its number changes with every closure that is
    // added before it, and the optimiser makes one of both.
    while Self.isClosure(name), let separator = name.firstRange(of: " in ") {
      name = String(name[separator.upperBound...])
    }
    for prefix in Self.prefixes where name.hasPrefix(prefix) { name.removeFirst(prefix.count) }
    if name.hasPrefix("default argument "), let separator = name.firstRange(of: " of ") {
      name = String(name[separator.upperBound...])
    }
    name = Self.withoutNumbers(name)
    for (long, short) in [
      (".__allocating_init(", ".init("), (".__deallocating_deinit", ".deinit"),
      (".__isolated_deallocating_deinit", ".deinit"),
    ] {
      name.replace(long, with: short)
    }
    text = Self.withoutCompilerSuffix(name)
  }

  private static let prefixes = [
    "variable initialization expression of ", "one-time initialization function for ",
    "property wrapper backing initializer of ", "static ",
  ]

  /// True for the first function of a program or a thread: it calls everything.
  var isEntry: Bool {
    text == "main" || text == "async_Main" || text.hasSuffix("_main")
      || text.hasSuffix(".main()") || text.hasSuffix(".$main()")
  }

  private static func isClosure(_ name: String) -> Bool {
    ["closure #", "implicit closure #"].contains(where: name.hasPrefix)
  }

  /// "helper #2 in App.run()" is "helper in App.run()".
  private static func withoutNumbers(_ name: String) -> String {
    guard name.contains(" #") else { return name }
    var words = name.split(separator: " ", omittingEmptySubsequences: false)
    words.removeAll { $0.first == "#" && $0.dropFirst().allSatisfy(\.isNumber) }
    return words.joined(separator: " ")
  }

  /// The parts into which optimisers split a C function: "f.cold", "f.part.0".
  private static func withoutCompilerSuffix(_ name: String) -> String {
    // Names of Swift and C++ say so in words, which are left out already.
    guard !name.contains("("), !name.contains(" ") else { return name }
    let suffixes = [".cold", ".part.", ".isra.", ".constprop.", ".llvm.", ".lto_priv."]
    let starts = suffixes.compactMap { name.firstRange(of: $0)?.lowerBound }
    guard let start = starts.min(), start > name.startIndex else { return name }
    return String(name[..<start])
  }
}

/// Remembers which functions are the program's own: a hundred threads have the same few hundred names.
private final class OwnFunctions: Sendable {
  private let known = Mutex<[String: Bool]>([:])

  func contains(_ function: String) -> Bool {
    known.withLock { known in
      if let isOwn = known[function] { return isOwn }
      let isOwn = !SystemCode.isFunction(function) && !SystemCode.isArtificial(function)
      known[function] = isOwn
      return isOwn
    }
  }
}
