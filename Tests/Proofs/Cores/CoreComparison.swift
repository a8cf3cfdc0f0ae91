import CoreFile
import CrashAnalysis
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk

/// Compares the report from a core file with the report from the handler's dump of the same crash.
struct CoreComparison {
  /// One text for each difference.
  private(set) var differences: [String] = []
  private(set) var frameCount = 0

  /// Opens a core file as `postmortem show` does.
  ///
  /// - Parameter directories: additional directories in which to look for the modules' files.
  static func snapshot(
    ofCore path: String, directories: [String] = []
  ) throws -> ProcessSnapshot {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    let size = Int(try file.seekToEnd())
    guard let bytes = DumpBytes(descriptor: file.fileDescriptor, count: size) else {
      throw CocoaError(.fileReadUnknown)
    }
    return try CoreReader.snapshot(of: bytes, symbolDirectories: directories)
  }

  init(dump: ProcessSnapshot, core: ProcessSnapshot) {
    let ours = CrashReport(snapshot: dump, symbolicating: true)
    let theirs = CrashReport(snapshot: core, symbolicating: true)
    compare("message", ours.message, theirs.message)
    compare("other messages", "\(ours.otherMessages)", "\(theirs.otherMessages)")
    compare("cause", ours.cause?.kind, theirs.cause?.kind)
    // A core file of x86_64 has no trap number, so a failed delivery of a signal is at most likely.
    let isDelivery =
      dump.architecture == .x86_64 && dump.exception?.code == 0x80
      && ours.cause?.kind == "stack-overflow"
    compare(
      "certainty", isDelivery ? "likely" : ours.cause?.certainty.word,
      theirs.cause?.certainty.word)
    compare("place", ours.place, theirs.place)
    compare("signature", ours.signature, theirs.signature)
    compare("signal", dump.exception?.signal, core.exception?.signal)
    compare("code", dump.exception?.code, core.exception?.code)
    compare("address", dump.exception?.address, core.exception?.address)
    compare("crashed thread", dump.exception?.threadID, core.exception?.threadID)
    compare("process", dump.process.processID, core.process.processID)
    compare("program", dump.process.executablePath, core.process.executablePath)
    compare("arguments", dump.process.arguments, core.process.arguments)
    compare("threads", dump.threads.map(\.id).sorted(), core.threads.map(\.id).sorted())
    compare(
      "modules", dump.modules.map { [$0.path, $0.buildID.hexadecimal] },
      core.modules.map { [$0.path, $0.buildID.hexadecimal] })
    for thread in ours.threads {
      guard let other = theirs.threads.first(where: { $0.snapshot.id == thread.snapshot.id }) else {
        continue
      }
      let what = "thread \(thread.snapshot.id) \(thread.name ?? "")"
      frameCount += thread.frames.count
      compare("frames of \(what)", Self.lines(thread.frames), Self.lines(other.frames))
      compare("end of \(what)", thread.trace.end, other.trace.end)
      compare("task of \(what)", thread.task?.fields, other.task?.fields)
      compare(
        "waiting calls of \(what)", Self.lines(thread.task?.frames ?? []),
        Self.lines(other.task?.frames ?? []))
    }
    compare(
      "registers", dump.crashedThread?.context?.generalRegisters.map(\.value),
      core.crashedThread?.context?.generalRegisters.map(\.value))
  }

  private static func lines(_ frames: [StackFrame]) -> String {
    frames.map { frame in
      "\(frame.address) \(frame.symbol?.linkageName ?? "-") \(frame.sourceLocation?.line ?? 0)"
    }.joined(separator: "\n")
  }

  private mutating func compare<Value: Equatable>(_ name: String, _ ours: Value, _ theirs: Value) {
    if ours != theirs { differences.append("\(name):\n\(ours)\n|\n\(theirs)") }
  }
}
