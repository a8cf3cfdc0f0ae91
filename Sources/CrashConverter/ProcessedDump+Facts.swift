package import CrashReport
package import CrashReportDatabase
internal import IntermediateDump
package import ProcessSnapshot

extension ProcessedDump.Summary {
  init(of snapshot: ProcessSnapshot, _ facts: ReportFacts) {
    program = facts.program
    version = facts.version
    signal = snapshot.request == nil ? snapshot.exception?.signal : nil
    cause = facts.cause
    message = facts.message
    signature = facts.signature
    place = facts.place
    time = facts.time
  }
}

extension ReportFacts {
  /// Creates a report's facts from its snapshot and from the results of the stack walk.
  ///
  /// - Parameter facts: the results of the stack walk; nil to leave out the facts that depend on it.
  package init(of snapshot: ProcessSnapshot, _ facts: CrashFacts?, isNamed: Bool) {
    self.init()
    let process = snapshot.process
    program =
      process.product ?? process.executablePath?.split(separator: "/").last.map { String($0) }
    version = process.version
    signal = facts?.signal
    cause = facts?.cause
    message = facts?.message
    signature = facts?.signature
    place = facts?.place
    end = snapshot.end.map { _ in facts?.cause ?? "unknown" }
    time = process.crashTime.map(Timestamp.init(nanoseconds:))
    self.isNamed = isNamed
    var details = ReportDetails(of: snapshot, facts)
    details.isCut = isTooLong
    self.details = details
  }
}
