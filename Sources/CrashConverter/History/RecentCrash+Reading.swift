internal import IntermediateDump
internal import ProcessSnapshot

extension RecentCrash {
  /// Takes what an intermediate dump, or a minidump's own copy of one, says of a crash of one program.
  ///
  /// - Returns: nil where there was no crash, or another program's.
  init?(
    _ document: IntermediateDumpDocument, of identifier: String, reportID: ReportID,
    writtenAt time: Int64
  ) {
    // Nothing is claimed for this, and no attempt counted: so no more is read than is asked for.
    let snapshot = ProcessSnapshot(summarizing: document)
    guard let exception = snapshot.exception, snapshot.request == nil,
      snapshot.process.identifier == identifier
    else { return nil }
    self.reportID = reportID
    crashTime = Timestamp(nanoseconds: snapshot.process.crashTime ?? time)
    uptime = snapshot.process.uptime.flatMap(Int64.init(exactly:)).map { .nanoseconds($0) }
    signal = exception.signal
  }
}
