internal import CrashAnalysis
internal import CrashConverter
internal import CrashReport
internal import CrashReportDatabase
internal import CrashTestSupport
internal import Foundation
internal import IntermediateDump
internal import Minidump
internal import PendingDumps
internal import ProcessSnapshot

/// Converts the dumps of a case, as the next start does, and compares the reports with the expected ones.
struct CatalogueReports: Sendable {
  let testCase: CatalogueCase
  let symbols: VictimSymbols

  /// - Parameters:
  ///   - before: the dumps that existed before the case ran.
  ///   - log: what the case printed; nil if it is not known.
  func failures(database: String, before: Set<ReportID>, log: String?) throws -> [String] {
    var failures: [String] = []
    let directory = database + "/" + PendingDumpName.directory
    // The next start works with the owner's rights, even if root makes it.
    for place in [database, directory] {
      try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: place)
    }
    // Leaves out reports on killed runs, which are not crashes and are completed at once.
    let processed = try processIntermediateDumps(database: database, storingSymbols: false)
      .filter { $0.outcome.kind != .ended }
    let count = processed.count - before.count
    if !testCase.reports.contains(count) {
      failures.append("\(count) dumps, not \(testCase.reports.text): \(processed)")
    }
    if !mayBeCut { failures += processed.filter { $0.outcome != .complete }.map { "\($0)" } }
    let reports = try CrashReportDatabase(path: database).reports()
      .filter { $0.state == .pending }
    if reports.count != processed.count { failures.append("\(reports.count) reports") }
    let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    if !files.isEmpty { failures.append("left in the pending directory: \(files)") }
    guard case .crash(let crash) = testCase.death else { return failures }
    let logged = try log.map(LoggedReport.snapshots)
    for report in reports {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: report.path))
      let snapshot = try MinidumpReader.snapshot(of: [UInt8](bytes))
      // The reports that existed before are of another crash.
      if before.contains(report.id) { continue }
      failures += self.failures(snapshot, crash)
      failures += symbols.changes(of: snapshot)
      guard let logged else { continue }
      if let log = logged.first(where: { $0.reportID == report.id }) {
        failures += logFailures(log, snapshot)
      } else if testCase.condition.keepsLog {
        failures.append("not in the log")
      }
    }
    return failures
  }

  private func failures(_ snapshot: ProcessSnapshot, _ crash: KnownCrash) -> [String] {
    guard let exception = snapshot.exception else { return ["no exception"] }
    var failures: [String] = []
    let few = Self.withFewThreads(snapshot)
    let report = CrashReport(snapshot: few, symbolicating: false)
    if !snapshot.capture.isComplete, !mayBeCut {
      failures.append("incomplete: \(snapshot.capture.damage ?? "?")")
    }
    // Some conditions have more data than the handler can write in its three seconds, minus the time reserved for
    // the summary: on a busy machine the dump may be cut off.
    let isOutOfTime =
      testCase.condition.takesTime && snapshot.capture.captureTime ?? 0 >= 2_000_000_000
    if let sections = snapshot.capture.sectionsAbandoned, sections != 0, !isOutOfTime {
      failures.append("sections abandoned: \(String(sections, radix: 2))")
    }
    guard !isDiscarded(exception, crash) else { return failures }
    // A guard page is mapped, so an overflow into it is SEGV_ACCERR.
    let isGuard = crash.overflowsStack && exception.code == 2
    // If a signal arrives when the stack is full, before the instruction that would fault, the code is SI_KERNEL.
    let isUndelivered =
      crash.overflowsStack && testCase.condition.interrupts && exception.code == 128
    // The code of a signal that was sent by a call other than kill(2).
    let code = hasNoSender(crash) ? 0 : crash.code
    if exception.signal != crash.signal
      || (exception.code != code && !isGuard && !isUndelivered)
    {
      failures.append(
        "signal \(exception.signal.text), code \(exception.code.text),"
          + " not \(crash.signal), \(code)")
    }
    guard let thread = snapshot.crashedThread else { return failures + ["no crashing thread"] }
    let isRight =
      switch crash.address {
      case .exactly(let address): exception.address?.value == address
      case .instruction: exception.address == thread.instructionPointer
      case .any: exception.address != nil || isUndelivered
      case .none: exception.address == nil
      }
    if !isRight { failures.append("address \((exception.address?.value).text)") }
    guard !isOutOfTime, !mayBeCut else { return failures }
    var unexplained =
      textFailures(report, crash) + functionFailures(snapshot, crash) + causeFailures(few, crash)
    if !unexplained.isEmpty {
      unexplained.append(
        "code \(exception.code.text), stack pointer \((thread.stackPointer?.value).text),"
          + " stack from \((thread.stackRange?.start.value).text)")
    }
    return failures + unexplained
  }

  // Walking the stacks of 4,000 threads would take minutes. What the main thread did may be part of the evidence.
  private static func withFewThreads(_ snapshot: ProcessSnapshot) -> ProcessSnapshot {
    var few = snapshot
    few.threads.removeAll {
      $0.id != snapshot.exception?.threadID && $0.id != snapshot.process.processID
    }
    return few
  }

  /// Compares the report from the log with the one from the dump, unless that is cut.
  private func logFailures(_ logged: ProcessSnapshot, _ dumped: ProcessSnapshot) -> [String] {
    guard dumped.capture.isComplete else { return [] }
    return symbols.differences(Self.withFewThreads(logged), Self.withFewThreads(dumped))
  }

  private var mayBeCut: Bool {
    guard case .crash(let crash) = testCase.death else { return false }
    return testCase.condition.cutsLargeDumps && crash.overflowsStack
  }

  /// In the first process of a PID namespace, abort(3) ends with its own fault, which may be captured.
  private func isDiscarded(_ exception: ExceptionSnapshot, _ crash: KnownCrash) -> Bool {
    testCase.condition.group == .containers && crash.signal == 6 && exception.signal != 6
  }

  private func hasNoSender(_ crash: KnownCrash) -> Bool {
    testCase.condition.losesSenders && crash.code < 0
  }

  private func textFailures(_ report: CrashReport, _ crash: KnownCrash) -> [String] {
    // If the kernel recorded no sender, the report cannot say that the process sent the signal itself.
    guard !hasNoSender(crash) else { return [] }
    var failures: [String] = []
    if let message = crash.message, report.message?.contains(message) != true {
      failures.append("message: \(report.message ?? "none")")
    }
    guard testCase.condition.knowsMappings else { return failures }
    if let explanation = crash.explanation, !isExplained(report, explanation) {
      failures.append("explanation: \(report.explanation ?? "none")")
    }
    return failures
  }

  /// Compares the report's cause with that of the table, for an unoptimized build without a condition.
  private func causeFailures(_ snapshot: ProcessSnapshot, _ crash: KnownCrash) -> [String] {
    guard testCase.isAlone, testCase.build == .asTested, symbols.directories.isEmpty,
      let expected = crash.causes.first(where: { $0.place == testCase.place })
    else { return [] }
    let report = CrashReport(
      snapshot: snapshot, symbolicating: expected.isNamed || expected.message != nil)
    let isSaid =
      if let message = expected.message {
        report.message?.contains(message) == true
      } else {
        report.message == nil
      }
    var failures = isSaid ? [] : ["message with names: \(report.message ?? "none")"]
    guard let cause = report.cause else { return failures + ["no cause"] }
    if cause.kind != expected.kind || cause.certainty.word != expected.certainty {
      failures.append("cause: \(cause.certainty) \(cause.kind)")
    }
    if !cause.evidence.contains(where: { $0.text.contains(expected.evidence) }) {
      failures.append("evidence: \(cause.evidence)")
    }
    return failures
  }

  /// Checks that the function that crashed is on the stack of the crashed thread.
  private func functionFailures(_ snapshot: ProcessSnapshot, _ crash: KnownCrash) -> [String] {
    guard crash.isOnItsThread, testCase.condition.readsMemory, let thread = snapshot.crashedThread
    else { return [] }
    let functions = symbols.functions(on: thread, of: snapshot)
    return functions.contains { $0.contains(crash.function) }
      ? [] : ["no \(crash.function) among \(functions)"]
  }

  private func isExplained(_ report: CrashReport, _ explanation: String) -> Bool {
    report.explanation?.contains(explanation) == true
  }
}

extension ClosedRange<Int> {
  fileprivate var text: String {
    lowerBound == upperBound ? "\(lowerBound)" : "\(lowerBound) to \(upperBound)"
  }
}

extension Optional where Wrapped: BinaryInteger {
  fileprivate var text: String { map { "\($0)" } ?? "none" }
}
