internal import CrashReport
internal import Foundation
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Makes reports with function names from summaries in a log.
final class LoggedSummarySymbolicator {
  private var directories: [String]
  private let readsFiles: Bool
  private let download: (CrashReport) -> String?
  private var source: SymbolSource

  /// - Parameters:
  ///   - directories: the directories to search for the modules' files, in addition to the modules' own paths.
  ///   - readsFiles: false to read no files of modules, and so to find no names.
  ///   - download: downloads files of modules whose lines are not known, and returns the directory that contains
  ///     them; nil if it found no files.
  init(
    directories: [String] = [], readsFiles: Bool = true,
    download: @escaping (CrashReport) -> String? = { _ in nil }
  ) {
    (self.directories, self.readsFiles, self.download) = (directories, readsFiles, download)
    source = SymbolSource(directories: directories, readsFiles: readsFiles)
  }

  func report(of summary: LoggedSummary) -> CrashReport {
    source.begin(stored: nil)
    let report = summary.report(source)
    guard let directory = download(report) else { return report }
    // A new symbol source is needed, because it searches again for the files that the old one did not find.
    if !directories.contains(directory) { directories.append(directory) }
    source = SymbolSource(directories: directories, readsFiles: readsFiles)
    return summary.report(source)
  }

  func text(of summary: LoggedSummary) -> String {
    let product = [summary.product, summary.version].compactMap(\.self).joined(separator: " ")
    let title = "Process \(summary.processID)" + (product.isEmpty ? "" : " (\(product))") + ": "
    let report = summary.reportID.map { "Report \($0): \(summary.dumpText)" }
    if summary.isLine { return (title + (report ?? "")).escapedForMessage + "\n" }
    if summary.isContradictory {
      let lines = ["Process \(summary.processID): " + summary.refusal] + summary.contradictionLines
      return lines.map { $0.escapedForMessage + "\n" }.joined()
    }
    let head = [title + summary.signalText] + [report].compactMap(\.self)
    return head.map { $0.escapedForMessage + "\n" }.joined()
      + TextReport.text(
        ofLogged: self.report(of: summary), width: Terminal.width, color: Terminal.usesColor)
  }
}

extension LoggedSummary {
  fileprivate var signalText: String {
    guard signal.count >= 2 else { return "unknown signal" }
    var text = signal[1]
    if signal.count >= 5, signal[2] == "code" { text += " (\(signal[4]))" }
    if signal.count >= 7, signal[5] == "address" { text += " at \(signal[6])" }
    return text
  }

  /// The message that replaces a summary whose lines contradict each other.
  fileprivate var refusal: String {
    "The lines of this summary contradict each other, so they come from several processes with the same process "
      + "ID. The stack and the facts are left out, because they would be of different crashes."
  }

  /// Lines that describe the first eight contradictions, and the number of the others.
  fileprivate var contradictionLines: [String] {
    let shown = contradictions.prefix(8).map { "  " + $0 }
    let rest = contradictions.count - shown.count
    return rest > 0 ? shown + ["  and \(rest) more"] : Array(shown)
  }

  fileprivate var dumpText: String {
    let path = dumpPath ?? ""
    let failure = dumpFailure.map { " (\($0))" } ?? ""
    switch dump {
    case "complete": return "in " + path
    case "torn": return "cut off\(failure), in " + path
    case "none": return "could not be written\(failure) to " + path
    default: return "unknown"
    }
  }

  /// The size of the range of invented addresses that each module gets, and the start of the first range; no process
  /// has such addresses.
  private static let moduleSize: UInt64 = 1 << 40
  private static let moduleBase: UInt64 = 1 << 63

  fileprivate func report(_ source: SymbolSource) -> CrashReport {
    var snapshot = ProcessSnapshot(architecture: architecture == "arm64" ? .arm64 : .x86_64)
    snapshot.process.processID = UInt32(exactly: processID)
    guard !isContradictory else {
      snapshot.capture.damage =
        refusal + " "
        + contradictionLines.map { String($0.drop { $0 == " " }) }.joined(separator: "; ")
      return CrashReport(
        snapshot: snapshot, trace: StackTrace(), symbols: source,
        log: CrashReport.LoggedDump(state: nil, failure: nil, path: nil))
    }
    snapshot.reportID = reportID.flatMap { ReportID($0) }
    snapshot.process.product = product
    snapshot.process.version = version
    snapshot.capture.isComplete = isWhole
    let log = CrashReport.LoggedDump(
      state: dump, failure: dumpFailure, path: dumpPath, termination: termination)
    guard !isLine else {
      return CrashReport(snapshot: snapshot, trace: StackTrace(), symbols: source, log: log)
    }
    var bases: [Int: Address] = [:]
    for (position, number) in modules.keys.sorted().enumerated() {
      guard let module = modules[number] else { continue }
      let base = Address(Self.moduleBase &+ UInt64(position) &* Self.moduleSize)
      bases[number] = base
      snapshot.modules.append(module.snapshot(at: base, size: Self.moduleSize))
    }
    let entries = frames.map { frame in
      let base = frame.offset < Self.moduleSize ? frame.module.flatMap { bases[$0] } : nil
      var entry = CandidateFrames.Entry(
        address: base.map { $0 &+ frame.offset } ?? Address(frame.offset),
        module: base.flatMap { snapshot.module(containing: $0) }, evidence: frame.evidence,
        place: frame.place, savedPointer: frame.savedPointer)
      (entry.foldedCount, entry.foldedPeriod) = (frame.foldedCount, frame.foldedPeriod)
      return entry
    }
    let sorted = CandidateFrames(entries, architecture: snapshot.architecture, source: source)
    var trace = sorted.trace(in: snapshot, source)
    if hasMoreFrames { trace.end = .lost }
    var thread = ThreadSnapshot(id: UInt32(threadID) ?? 0)
    thread.name = threadName
    snapshot.threads = [thread]
    snapshot.client.contexts = contexts.map {
      .init(threadID: thread.id, name: $0.name, value: $0.value)
    }
    snapshot.exception = exception(of: thread.id, trace)
    return CrashReport(snapshot: snapshot, trace: trace, symbols: source, log: log)
  }

  private func exception(of threadID: UInt32, _ trace: StackTrace) -> ExceptionSnapshot {
    var exception = ExceptionSnapshot(threadID: threadID)
    exception.signal = signal.first.flatMap { Int32($0) }
    if signal.count >= 5, signal[2] == "code" { exception.code = Int32(signal[3]) }
    if signal.count >= 7, signal[5] == "address" {
      exception.address = UInt64(signal[6].dropFirst(2), radix: 16).map { Address($0) }
    }
    exception.fatalMessage = messages.isEmpty ? nil : messages.joined(separator: "\n")
    exception.abortMessage = abortMessage
    // The summary does not say who sent the signal. A message, or abort() on the stack, shows that the process itself
    // called abort().
    let hasAborted =
      exception.fatalMessage != nil || abortMessage != nil
      || trace.frames.contains { $0.symbol?.linkageName == "abort" }
    if exception.signal == SIGABRT, exception.code.map({ Int($0) }) == Int(SI_TKILL), hasAborted {
      var information = [UInt8](repeating: 0, count: 16)
      information.append(littleEndian: processID)
      exception.signalInfo = information + [UInt8](repeating: 0, count: 108)
    }
    return exception
  }
}

extension LoggedSummary.Module {
  fileprivate func snapshot(at base: Address, size: UInt64) -> ModuleSnapshot {
    let mark = " (deleted)"
    let isDeleted = path.hasSuffix(mark)
    return ModuleSnapshot(
      address: base, size: size, path: isDeleted ? String(path.dropLast(mark.count)) : path,
      isDeleted: isDeleted, buildID: buildID)
  }
}
