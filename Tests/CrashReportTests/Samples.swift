import Foundation
import ProcessSnapshot
import Stackwalk

@testable import CrashAnalysis
@testable import CrashReport

extension StackFrame {
  /// A frame in the first module of a snapshot.
  init(
    _ function: String?, address: Address = 0x1000, symbol: String? = nil,
    trust: FrameTrust = .framePointer, inlined: Bool = false, module: Int? = 0,
    line: SourceLocation? = nil
  ) {
    self.init(
      address: address, isReturnAddress: false, trust: trust, moduleIndex: module,
      symbol: function.map {
        FrameSymbol(linkageName: symbol ?? $0, name: $0, offset: nil)
      })
    isInlined = inlined
    sourceLocation = line
  }
}

extension StackTrace {
  init(_ frames: [StackFrame], recursion: Recursion? = nil) {
    self.init()
    self.frames = frames
    self.recursion = recursion
    end = .bottom
  }
}

extension ProcessSnapshot {
  /// The cause, with the given frames of the crashing thread.
  func finding(_ frames: [StackFrame] = []) -> Finding? {
    CauseFinder(of: self, trace: StackTrace(frames)).finding
  }

  /// The cause as text, including exhausted resources.
  func explanation(_ frames: [StackFrame] = []) -> String? {
    var report = CrashReport(snapshot: self, symbolicating: false)
    report.cause = finding(frames)
    return report.explanation
  }
}

extension Signature {
  /// The signature of a report with this stack only.
  static func text(
    of snapshot: ProcessSnapshot, trace: StackTrace, _ finding: Finding?
  ) -> String? {
    text(
      of: snapshot, trace: trace, finding,
      ownCode: OwnCode(of: snapshot, frames: trace.frames))
  }
}

extension CrashReport {
  /// The report's JSON as its readers see it.
  var jsonObject: [String: Any] {
    get throws {
      try JSONSerialization.jsonObject(with: Data(json().utf8)) as? [String: Any] ?? [:]
    }
  }
}
