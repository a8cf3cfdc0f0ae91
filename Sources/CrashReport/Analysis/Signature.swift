internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Groups crashes of one cause under one line of text.
///
/// The signal, then the names of the innermost calls of the program's own code. It contains no addresses, which
/// change with every run; no lines, offsets and numbers of closures and awaits, which change with every build; and
/// nothing that depends on the thread or on inlining. `Docs/Reference/Signatures.md` has the rules and their limits.
package struct Signature: Sendable {
  private static let frameCount = 3
  /// The number of functions of a recursion that are named.
  private static let recursionCount = 8

  private let modules: [ModuleSnapshot]
  private let ownCode: OwnCode

  init(_ modules: [ModuleSnapshot], _ ownCode: OwnCode) {
    self.modules = modules
    self.ownCode = ownCode
  }

  /// - Parameters:
  ///   - trace: the stack of the crashing thread.
  ///   - finding: the cause, which shows whether it is a stack overflow.
  ///   - thrown: the throw of an uncaught error, for a stack that has only `main`.
  ///   - hang: the hang, if the stack is that of a hanging thread.
  static func text(
    of snapshot: ProcessSnapshot, trace: StackTrace, _ finding: Finding?,
    thrown: [StackFrame] = [], hang: HangSubject? = nil, ownCode: OwnCode
  ) -> String? {
    if let end = snapshot.end { return end.kind.map { "end | \($0.word)" } ?? "end" }
    guard let kind = kind(of: snapshot) else { return nil }
    if let reason = snapshot.request?.reason {
      return "\(kind) | " + reason.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
    if let hang, !hang.hasPlace {
      return [kind, snapshot.request?.name?.trimmed].compactMap(\.self).joined(separator: " | ")
    }
    let signature = Signature(snapshot.modules, ownCode)
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

  /// A demangled function name in the form used by signatures; nil for a compiler-generated function, which
  /// signatures leave out.
  package static func name(of function: String) -> String? {
    CompilerMade.isFunction(function) ? nil : SignatureName(function).text
  }

  /// The signal; "hang" or "dump" if there was none; nil if a truncated dump lacks it.
  private static func kind(of snapshot: ProcessSnapshot) -> String? {
    if let request = snapshot.request { return request.kind == .hang ? "hang" : "dump" }
    return snapshot.exception?.signal.map(SignalNames.text)
  }

  /// The names of a stack, and whether they distinguish one crash of the program from another.
  private func names(of frames: [StackFrame]) -> (names: [String], areTelling: Bool) {
    // Inferred frames are missing if the module's file is missing.
    let frames = frames.filter { $0.trust != .tailCall }
    // A frame after a gap or found by a scan may be left over from another call.
    let sure = Array(frames.prefix { $0.trust != .scan && $0.trust != .afterGap })
    for frames in [sure, frames] {
      let own = frames.filter(ownCode.contains).compactMap(\.function).map(SignatureName.init)
      // The first function of a thread does not show the cause, so it is only used if there is no other.
      for names in [own.filter { !$0.isEntry }, own] where !names.isEmpty {
        return (Self.innermost(names.map(\.text)), names.contains { !$0.isEntry })
      }
    }
    // The program has no names, and offsets change with every build.
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

  /// The first few names; equal names in a row count once.
  private static func innermost(_ names: [String]) -> [String] {
    var parts: [String] = []
    for name in names where name != parts.last {
      parts.append(name)
      if parts.count == frameCount { break }
    }
    return parts
  }

  /// The functions that called each other until the stack was full.
  ///
  /// Which function of a recursion overflows the stack, and what it called then, varies by chance.
  private func names(of recursion: Recursion, in frames: [StackFrame]) -> [String]? {
    var depth = 0
    var names: Set<String> = []
    for frame in frames {
      // An inlined call comes before the frame that it is in, and has its number.
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
