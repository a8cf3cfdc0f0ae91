internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Makes one line of text by which crashes are grouped: crashes with the same cause usually have the same line.
///
/// A signature usually consists of the signal and the names of the innermost calls of the program's own code. A
/// signature contains no addresses, because they change with every run. A signature contains no line numbers, offsets,
/// or numbers of closures and awaits, because they can change with every build. A signature does not depend on the
/// thread or on inlining. `Docs/Reference/Signatures.md` describes the rules and their limits.
package struct Signature: Sendable {
  private static let frameCount = 3
  /// The maximum number of a recursion's functions that a signature names.
  private static let recursionCount = 8

  private let modules: [ModuleSnapshot]
  private let ownCode: OwnCode

  init(_ modules: [ModuleSnapshot], _ ownCode: OwnCode) {
    self.modules = modules
    self.ownCode = ownCode
  }

  /// - Parameters:
  ///   - trace: the stack of the crashing thread.
  ///   - finding: the cause; nil if it is not known.
  ///   - thrown: the call stack at the throw of an uncaught error, used if the names on the crashing thread's stack,
  ///     such as `main` alone, do not distinguish crashes.
  ///   - hang: the thread that hangs, if the report is about a hang.
  ///   - tasks: the deadlock of tasks that explains a hang, used if the hung thread is not in the program's own code.
  static func text(
    of snapshot: ProcessSnapshot, trace: StackTrace, _ finding: Finding?,
    thrown: [StackFrame] = [], hang: HangSubject? = nil, tasks: TaskDeadlock? = nil,
    ownCode: OwnCode
  ) -> String? {
    if let end = snapshot.end { return end.kind.map { "end | \($0.word)" } ?? "end" }
    guard let kind = kind(of: snapshot) else { return nil }
    if let reason = snapshot.request?.reason {
      return "\(kind) | " + reason.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
    let signature = Signature(snapshot.modules, ownCode)
    if let hang, !hang.hasPlace {
      let names = tasks?.waits.first.map { signature.names(of: $0.frames) }
      if let names, names.areTelling { return ([kind] + names.names).joined(separator: " | ") }
      return [kind, snapshot.request?.name?.trimmed].compactMap(\.self).joined(separator: " | ")
    }
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

  /// Converts a demangled function name to the form that signatures use.
  ///
  /// Returns nil for a compiler-generated function, because signatures leave out such functions.
  package static func name(of function: String) -> String? {
    CompilerMade.isFunction(function) ? nil : SignatureName(function).text
  }

  /// The signal's name, or "hang" or "dump" if there was no signal; nil if a truncated dump lacks the signal.
  private static func kind(of snapshot: ProcessSnapshot) -> String? {
    if let request = snapshot.request { return request.kind == .hang ? "hang" : "dump" }
    return snapshot.exception?.signal.map(SignalNames.text)
  }

  /// The names of a stack's innermost calls, and whether they distinguish different crashes of the program.
  private func names(of frames: [StackFrame]) -> (names: [String], areTelling: Bool) {
    // Frames of tail calls are left out: the stack walk infers them from the module's file, which may be missing, and
    // the signature must not depend on it.
    let frames = frames.filter { $0.trust != .tailCall }
    // A frame that was found after a gap or by a scan may be left over from an earlier call, so the frames that precede
    // it are tried first.
    let sure = Array(frames.prefix { $0.trust != .scan && $0.trust != .afterGap })
    for frames in [sure, frames] {
      let own = frames.filter(ownCode.contains).compactMap(\.function).map(SignatureName.init)
      // The first function of a thread does not show the cause, so it is used only if there is no other function.
      for names in [own.filter { !$0.isEntry }, own] where !names.isEmpty {
        return (Self.innermost(names.map(\.text)), names.contains { !$0.isEntry })
      }
    }
    // If the program has no function names, the module's name is used, because offsets change with every build.
    if let frame = frames.first(where: { $0.function == nil && ownCode.isInOwnModule($0) }),
      let module = modules.module(of: frame)
    {
      return ([module.name], false)
    }
    let system = frames.compactMap(\.function).filter { !CompilerMade.isFunction($0) }
    let names = Self.innermost(system.map { SignatureName($0).text })
    guard names.isEmpty else { return (names, true) }
    return (frames.first.flatMap { modules.module(of: $0) }.map { [$0.name] } ?? [], false)
  }

  /// The first `frameCount` names; consecutive equal names are used once.
  private static func innermost(_ names: [String]) -> [String] {
    var parts: [String] = []
    for name in names where name != parts.last {
      parts.append(name)
      if parts.count == frameCount { break }
    }
    return parts
  }

  /// The names of the functions that called each other until the stack was full; nil if none of them is the program's
  /// own.
  ///
  /// The program's functions in one round of the recursion are named, up to `recursionCount` of them. They are sorted,
  /// because chance decides which of them overflows the stack.
  private func names(of recursion: Recursion, in frames: [StackFrame]) -> [String]? {
    var depth = 0
    var names: Set<String> = []
    for frame in frames {
      // An inlined call precedes the frame into which it was inlined, and both have the same number.
      let isInside = depth >= recursion.first && depth - recursion.first < recursion.count
      if isInside, frame.trust != .tailCall, ownCode.contains(frame), let function = frame.function
      {
        names.insert(SignatureName(function).text)
      }
      if !frame.isInlined { depth += 1 }
      if depth - recursion.first >= recursion.period { break }
    }
    return names.isEmpty ? nil : Array(names.sorted().prefix(Self.recursionCount))
  }
}
