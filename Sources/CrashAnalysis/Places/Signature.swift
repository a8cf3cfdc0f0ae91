internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Makes one line of text by which crashes are grouped: crashes with the same cause usually have the same line.
///
/// A signature usually consists of the signal and the names of the innermost calls of the program's own code. A
/// signature contains no addresses, because they change with every run. A signature contains no line numbers, or
/// numbers of closures and awaits, because they can change with every build; it contains offsets only if no call has a
/// name, and a line only if the message names another place than those on the stack. A signature does not depend on the thread or on inlining. `Docs/Reference/Signatures.md` describes the rules and their limits.
package struct Signature: Sendable {
  private static let frameCount = 3
  /// The maximum number of offsets in a signature; the innermost ones can be in a runtime that was linked statically.
  private static let offsetCount = 5
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
  ///   - source: the stack or the task from which the names are taken.
  ///   - stack: returns the stack of the thread with a given ID.
  static func text(
    of snapshot: ProcessSnapshot, trace: StackTrace, _ finding: Finding?,
    thrown: [StackFrame] = [], hang: HangSubject? = nil, from source: ReportPlace = .ownStack,
    ownCode: OwnCode, stack: (UInt32) -> [StackFrame] = { _ in [] }
  ) -> String? {
    if let end = snapshot.end { return "end | \(end.word)" }
    guard let kind = kind(of: snapshot) else { return nil }
    // The place at which a request arrives does not distinguish requests.
    if snapshot.isQuitRequest, let word = finding?.kind { return "\(kind) | \(word)" }
    if let reason = snapshot.request?.reason {
      return "\(kind) | " + reason.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
    let signature = Signature(snapshot.modules, ownCode)
    let isRequested = snapshot.request != nil
    if isRequested, snapshot.request?.errorType == nil,
      let names = signature.names(ofDeadlock: finding, hang, stack)
    {
      return ([kind, "deadlock"] + names).joined(separator: " | ")
    }
    switch source {
    case .unknown, .task:
      return [kind, snapshot.request?.name?.trimmed].compactMap(\.self).joined(separator: " | ")
    case .ownStack, .wait, .mainThread: break
    }
    var isOverflow = false
    if case .stackOverflow = finding?.cause {
      isOverflow = true
      if let recursion = trace.recursion,
        let names = signature.names(of: recursion, in: trace.frames)
      {
        return "\(kind) | recursion | " + names.joined(separator: ", ")
      }
    }
    let frames = source.threadID.map(stack) ?? trace.frames
    // A recursion that continues after a gap shows that the frames there are no leftovers.
    let isSureBehindGap = source.threadID == nil && trace.recursion?.estimatedInGap != nil
    var (names, value) = signature.names(
      of: frames, withoutLocks: isRequested, withOffsets: !isOverflow,
      isSureBehindGap: isSureBehindGap)
    if value < .name, !thrown.isEmpty {
      let found = signature.names(of: thrown)
      if found.value > .weak { (names, value) = found }
    }
    let cause = snapshot.request?.errorType ?? (value == .name ? nil : finding?.kind)
    let origin = finding?.swiftMessage.flatMap { NamedOrigin.text(in: $0, trace.frames) }
    return ([kind] + (cause.map { [$0] } ?? []) + names + (origin.map { [$0] } ?? []))
      .joined(separator: " | ")
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

  /// The two innermost calls of each wait of a deadlock, without methods of locks; nil if the cause is no deadlock, or
  /// if the hung thread shows the place of a hang better than the tasks.
  private func names(
    ofDeadlock finding: Finding?, _ hang: HangSubject?, _ stack: (UInt32) -> [StackFrame]
  ) -> [String]? {
    let stacks: [[StackFrame]]
    switch finding?.cause {
    case .deadlock(let deadlock): stacks = deadlock.waits.map { stack($0.threadID) }
    case .taskDeadlock(let deadlock) where hang?.hasPlace != true:
      stacks = deadlock.waits.map(\.frames)
    default: return nil
    }
    let names = stacks.compactMap { frames -> String? in
      let found = self.names(of: frames, withoutLocks: true)
      return found.value > .weak ? found.names.prefix(2).joined(separator: " < ") : nil
    }
    return names.isEmpty ? nil : Self.innermost(names)
  }

  /// How well the parts of a signature distinguish different crashes of the program.
  private enum Value: Comparable {
    /// The name of a module, or of the function in which a program begins.
    case weak
    /// Offsets, which distinguish the crashes of one build.
    case offset
    case name
  }

  /// The names of a stack's innermost calls.
  ///
  /// - Parameters:
  ///   - withoutLocks: true to leave out the methods of locks that precede other calls of the program's own code.
  ///   - withOffsets: true to use offsets if no call of the program's own code has a name.
  ///   - isSureBehindGap: true if frames that were found after a gap are known to be frames.
  private func names(
    of frames: [StackFrame], withoutLocks: Bool = false, withOffsets: Bool = true,
    isSureBehindGap: Bool = false
  ) -> (names: [String], value: Value) {
    // Frames of tail calls are left out: the stack walk infers them from the module's file, which may be missing, and
    // the signature must not depend on it.
    let frames = frames.filter { $0.trust != .tailCall }
    // A frame that was found after a gap or by a scan may be left over from an earlier call, so the frames that precede
    // it are tried first.
    let sure = Array(
      frames.prefix { $0.trust != .scan && ($0.trust != .afterGap || isSureBehindGap) })
    let offsets = withOffsets ? offsets(in: sure) : []
    for leavesOutLocks in withoutLocks ? [true, false] : [false] {
      for frames in [sure, frames] {
        let own = frames.filter(ownCode.contains)
        let shown = leavesOutLocks ? Array(own.drop(while: LockMethod.contains)) : own
        let names = shown.compactMap(\.function).map(SignatureName.init)
        // The first function of a thread does not show the cause, so it is used only if there is no other function.
        let telling = names.filter { !$0.isEntry }
        if !telling.isEmpty { return (Self.innermost(telling.map(\.text)), .name) }
        if !names.isEmpty, !leavesOutLocks {
          return offsets.isEmpty ? (Self.innermost(names.map(\.text)), .weak) : (offsets, .offset)
        }
      }
    }
    if !offsets.isEmpty { return (offsets, .offset) }
    if let frame = frames.first(where: { $0.function == nil && ownCode.isInOwnModule($0) }),
      let module = modules.module(of: frame)
    {
      return ([module.name], .weak)
    }
    let system = frames.compactMap(\.function).filter { !CompilerMade.isFunction($0) }
    let names = Self.innermost(system.map { SignatureName($0).text })
    guard names.isEmpty else { return (names, .name) }
    return (frames.first.flatMap { modules.module(of: $0) }.map { [$0.name] } ?? [], .weak)
  }

  /// The innermost calls without a name in the program's own modules, as file names with offsets.
  ///
  /// Offsets change with every build, so each build has its own signature.
  private func offsets(in frames: [StackFrame]) -> [String] {
    let nameless = frames.filter { $0.function == nil && ownCode.isInOwnModule($0) }
    return Self.innermost(nameless.map(ownCode.line), count: Self.offsetCount)
  }

  /// The first `count` names; consecutive equal names are used once.
  private static func innermost(_ names: [String], count: Int = frameCount) -> [String] {
    var parts: [String] = []
    for name in names where name != parts.last {
      parts.append(name)
      if parts.count == count { break }
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

extension Finding {
  /// The message of the Swift runtime that is evidence for the cause; nil if there is none.
  fileprivate var swiftMessage: SwiftMessage? {
    evidence.lazy.compactMap { evidence in
      if case .swiftMessage(let text) = evidence { SwiftMessage(text) } else { nil }
    }.first
  }
}
