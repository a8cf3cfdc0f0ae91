import CrashTestSupport
import ProcessSnapshot
import Stackwalk
import Testing

/// Compares our functions, files, lines and inlined calls with gdb's, at the addresses of gdb's frames.
///
/// Each address is looked up separately, so this compares symbols and not unwinding.
struct LineComparison: CustomStringConvertible {
  /// The number of compared frames, without inlined ones.
  private(set) var frameCount = 0
  private(set) var inlinedCount = 0
  /// One text for each frame that differs.
  private(set) var differences: [String] = []
  private let symbols = SymbolSource()
  private let path: String
  /// Addresses relative to the module, for which gdb shows a line although the code belongs to none.
  private var lineless: Set<UInt64> = []

  /// - Parameter path: the module in which frames are compared.
  init(module path: String) { self.path = path }

  /// Compares the frames of a thread.
  mutating func add(
    _ frames: [DebuggerView.SourceFrame], of snapshot: ProcessSnapshot, _ name: String
  ) {
    // Each group has inlined calls and the function into which they were inlined.
    var start = 0
    for (index, frame) in frames.enumerated() where !frame.isInlined {
      let theirs = frames[start...index].map(Self.text)
      start = index + 1
      let bare = StackFrame(
        address: Address(frame.address), isReturnAddress: frame.isReturnAddress, trust: .context)
      guard let module = snapshot.module(containing: bare.lookupAddress), module.path == path
      else { continue }
      let ours = symbols.frames(at: bare, in: module).map(Self.text)
      frameCount += 1
      inlinedCount += ours.count - 1
      guard ours != theirs else { continue }
      if Self.isForeignLine(ours, theirs) {
        lineless.insert(bare.lookupAddress.wrappedDistance(above: module.address))
      } else {
        differences.append(
          "\(name) at 0x\(String(frame.address, radix: 16)): \(ours), gdb: \(theirs)")
      }
    }
  }

  /// Checks that all frames are equal in debug builds, and 99 of 100 in release builds, and that llvm-symbolizer
  /// finds no line for code without a line either.
  func check(
    _ configuration: BuildConfiguration, sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) async throws {
    let allowed = configuration == .release ? frameCount / 100 : 0
    #expect(
      differences.count <= allowed, "\(differences.joined(separator: "\n"))",
      sourceLocation: sourceLocation)
    guard !lineless.isEmpty else { return }
    let directory = try TemporaryDirectory()
    let others = try await LLVMSymbolizer.frames(
      at: lineless.sorted(), of: path, directory: directory.path)
    for frames in others {
      #expect(frames.first?.line == 0, "\(frames)", sourceLocation: sourceLocation)
    }
  }

  var description: String {
    "\(frameCount) frames, \(inlinedCount) inlined, \(differences.count) different, "
      + "lines for \(lineless.count) addresses that have none"
  }

  /// For line 0, which the compiler gives its own code (thunks, specializations), gdb shows the line of the code
  /// before it, which may be in another function.
  private static func isForeignLine(_ ours: [String], _ theirs: [String]) -> Bool {
    guard let own = ours.first, let other = theirs.first, own.hasSuffix(" -:0") else {
      return false
    }
    return ours.dropFirst() == theirs.dropFirst()
      && own.dropLast(4) == other.prefix { $0 != "/" }.dropLast()
  }

  private static func text(_ frame: DebuggerView.SourceFrame) -> String {
    "\(frame.isInlined ? "inlined " : "")\(frame.function) \(frame.file ?? "-"):\(frame.line)"
  }

  private static func text(_ frame: StackFrame) -> String {
    let line = frame.sourceLocation?.line
    let file = line == nil ? "-" : frame.sourceLocation?.file ?? "-"
    return
      "\(frame.isInlined ? "inlined " : "")\(frame.symbol?.linkageName ?? "-") \(file):\(line ?? 0)"
  }
}
