internal import ProcessSnapshot

/// Groups crashes of one cause under one line of text.
///
/// The signal, then the names of the innermost calls of the program's own code. No addresses, which
/// change with every run; no offsets, lines and numbers of closures, which change with every build;
/// nothing that differs between threads or with what was inlined. The rules, and what they cannot
/// do, are in `Docs/Signatures.md`.
struct Signature: Sendable {
  private static let frameCount = 3
  /// Functions of a recursion that are named.
  private static let recursionCount = 8

  private let systemModules: Set<String>

  init(modulePaths: some Sequence<String>) {
    systemModules = Set(
      modulePaths.filter(SystemCode.isModule).map { path in
        path.split(separator: "/").last.map(String.init) ?? path
      })
  }

  static func text(
    exception: ExceptionSnapshot?, frames: [CrashReport.Frame], modules: [ModuleSnapshot],
    request: DumpRequest? = nil, end: RunEnd? = nil,
    recursion: CrashReport.Recursion? = nil
  ) -> String? {
    if let end { return CrashReport.End(end)?.kind.map { "end | \($0)" } ?? "end" }
    guard let kind = kind(of: exception, request) else { return nil }
    let signature = Signature(modulePaths: modules.map(\.path))
    if let recursion, let names = signature.names(of: recursion, in: frames) {
      return "\(kind) | recursion | " + names.joined(separator: ", ")
    }
    let parts = signature.names(of: frames)
    return ([kind] + parts).joined(separator: " | ")
  }

  /// The signal; "hang" or "dump" where there was none.
  ///
  /// Nil where it was lost.
  private static func kind(of exception: ExceptionSnapshot?, _ request: DumpRequest?) -> String? {
    if let request { return request.kind == .hang ? "hang" : "dump" }
    guard let signal = exception?.signal else { return nil }
    return SignalNames.name(signal) ?? "signal \(signal)"
  }

  /// True for a call of the program's own code that has a name.
  func isOwn(_ frame: CrashReport.Frame) -> Bool {
    guard let function = frame.function, isInOwnModule(frame) else { return false }
    return !SystemCode.isFunction(function) && !SystemCode.isArtificial(function)
  }

  /// True for code of the program's own, whether it has a name or not.
  func isInOwnModule(_ frame: CrashReport.Frame) -> Bool {
    frame.module.map { !systemModules.contains($0) } ?? false
  }

  private func names(of frames: [CrashReport.Frame]) -> [String] {
    // What was found behind a gap or by a scan may be left over from another call.
    let sure = Array(frames.prefix { $0.trust != "scan" && $0.trust != "after-gap" })
    for frames in [sure, frames] {
      let own = frames.filter(isOwn).compactMap(\.function).map(SignatureName.init)
      // Where a thread begins says nothing of the cause, unless there is nothing else.
      for names in [own.filter { !$0.isEntry }, own] where !names.isEmpty {
        return Self.innermost(names.map(\.text))
      }
    }
    // A program without names: its module is all that stays the same from build to build.
    if let module = frames.first(where: isInOwnModule)?.module { return [module] }
    let system = frames.filter { frame in
      frame.function.map { !SystemCode.isArtificial($0) } ?? false
    }
    let names = Self.innermost(system.compactMap(\.function).map { SignatureName($0).text })
    return names.isEmpty ? [frames.first?.module].compactMap { $0 } : names
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

  /// The functions that took turns until the stack was full: which of them hit its end is chance,
  /// and so is what it called then.
  private func names(
    of recursion: CrashReport.Recursion, in frames: [CrashReport.Frame]
  ) -> [String]? {
    // JSON may say anything.
    guard recursion.first >= 0, recursion.period > 0, recursion.count > 0 else { return nil }
    var depth = 0
    var names: Set<String> = []
    for frame in frames {
      // An inlined call comes before the frame that it is in, and has its number.
      let isInside = depth >= recursion.first && depth - recursion.first < recursion.count
      if isInside, isOwn(frame), let function = frame.function {
        names.insert(SignatureName(function).text)
      }
      if frame.inlined != true { depth += 1 }
      if depth - recursion.first >= recursion.period || names.count == Self.recursionCount { break }
    }
    return names.isEmpty ? nil : names.sorted()
  }
}
