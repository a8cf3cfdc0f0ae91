import CrashTestSupport
import ProcessSnapshot
import Stackwalk

/// Compares our walk of a thread with gdb's, on the core file of the same crash.
struct StackComparison {
  /// The number of gdb's frames.
  var frameCount = 0
  /// One text for each frame that differs.
  var differences: [String] = []
  /// Decides whether the names of frames in a module are compared; addresses always are.
  var comparesNames: @Sendable (ModuleSnapshot) -> Bool = { _ in true }

  /// Compares addresses and linkage names.
  ///
  /// Inlined calls, which share a frame, and tail calls, which have none, are left out. So are gdb's callers
  /// outside all modules: without call frame information (libswiftDispatch has functions without it), gdb
  /// analyzes a function's first instructions, may take any word for a return address, and then continues with a
  /// correct frame.
  mutating func add(
    _ thread: ThreadSnapshot, of snapshot: ProcessSnapshot, _ walker: Stackwalker,
    _ all: [DebuggerView.Frame]
  ) {
    let expected = all.enumerated().filter { index, frame in
      index == 0 || snapshot.module(containing: Address(frame.address) &- 1) != nil
    }.map(\.element)
    let frames = walker.frames(of: thread, limit: 2_000)
      .filter { !$0.isInlined && $0.trust != .tailCall }
    frameCount += expected.count
    for index in 0..<max(frames.count, expected.count) {
      let ours = index < frames.count ? frames[index] : nil
      let theirs = index < expected.count ? expected[index] : nil
      let module = theirs.flatMap { snapshot.module(containing: Address($0.address) &- 1) }
      let isNamed = module.map(comparesNames) ?? true
      let isSame =
        ours?.address.value == theirs?.address
        && (!isNamed || Self.isSameName(ours?.symbol?.linkageName, theirs?.function))
      if !isSame { differences.append("#\(index) \(Self.text(ours)) | \(Self.text(theirs))") }
    }
  }

  /// True if the names differ only in underscores or version: a function of libc may have several names for one
  /// address.
  ///
  /// Examples are `clone3` and `__clone3`, and in libc's debug file `__GI___lll_lock_wait` for the name within
  /// libc.
  private static func isSameName(_ ours: String?, _ theirs: String?) -> Bool {
    func core(_ name: String?) -> Substring? {
      let name = name?.prefix { $0 != "@" }.drop { $0 == "_" }
      return name.map { $0.hasPrefix("GI_") ? $0.dropFirst(3).drop { $0 == "_" } : $0 }
    }
    return core(ours) == core(theirs)
  }

  private static func text(_ frame: StackFrame?) -> String {
    guard let frame else { return "none" }
    let name = frame.symbol?.linkageName ?? "-"
    return "\(frame.address) \(name) \(frame.trust)"
  }

  private static func text(_ frame: DebuggerView.Frame?) -> String {
    frame.map { "0x\(String($0.address, radix: 16)) \($0.function ?? "-")" } ?? "none"
  }
}
