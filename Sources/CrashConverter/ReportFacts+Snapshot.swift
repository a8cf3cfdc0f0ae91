package import CrashAnalysis
package import CrashReportDatabase
internal import DumpInspection
internal import IntermediateDump
package import ProcessSnapshot

extension ReportFacts {
  /// Creates a report's facts from its snapshot and its verdict.
  ///
  /// - Parameter verdict: nil to leave out the facts that need an analysis.
  package init(of snapshot: ProcessSnapshot, _ verdict: Verdict?, isNamed: Bool) {
    self.init()
    let process = snapshot.process
    program =
      process.product ?? process.executablePath?.split(separator: "/").last.map { String($0) }
    version = process.version
    signal = snapshot.request == nil ? snapshot.exception?.signal : nil
    cause = verdict?.kind
    message = verdict?.message
    signature = verdict?.signature
    place = verdict?.place
    end = snapshot.end.map { _ in verdict?.kind ?? "unknown" }
    time = process.crashTime.map(Timestamp.init(nanoseconds:))
    self.isNamed = isNamed
    var details = ReportDetails(of: snapshot, verdict)
    details.isCut = isTooLong
    self.details = details
  }
}

extension ReportDetails.Kind {
  package init(of snapshot: ProcessSnapshot) {
    self =
      switch (snapshot.end, snapshot.request) {
      case (.some, _): .end
      case (nil, let request?): request.kind == .hang ? .hang : .dump
      case (nil, nil): snapshot.isQuitRequest ? .quit : .crash
      }
  }
}

extension ReportDetails {
  /// Reads the details of a snapshot.
  ///
  /// - Parameter verdict: the result of the analysis; nil to leave `ownFrames` and `stack` empty.
  init(of snapshot: ProcessSnapshot, _ verdict: Verdict?) {
    self.init()
    let process = snapshot.process
    for (key, _) in IndexNames.all {
      switch ProcessSnapshot.mapFields.shown[key]?(snapshot) {
      case .text(let text): self[text: key] = text
      case .unsigned(let number): self[number: key] = number
      default: break
      }
    }
    kind = Kind(of: snapshot)
    if snapshot.request == nil, let signal = snapshot.exception?.signal,
      let code = snapshot.exception?.code
    {
      self[.code] = UInt64(bitPattern: Int64(code))
      self[.codeName] = SignalNames.codeName(signal: signal, code: code)
    }
    self[.endSignal] = snapshot.end?.signal.map(SignalNames.text)
    self[.containerID] = snapshot.containerID
    let main = snapshot.mainModuleAddress(in: snapshot.modules)
    let buildID = snapshot.modules.first { $0.address == main }?.buildID ?? []
    self[.buildID] = buildID.isEmpty ? nil : buildID.hexadecimal
    self[.architecture] = snapshot.architecture.rawValue
    self[.uptime] = process.uptime
    self[.age] = process.age
    self[.residentMemory] = process.residentMemory
    self[.peakMemory] = process.peakResidentMemory
    self[.tasks] = snapshot.allTasks?.count
    if let open = snapshot.client.openContexts {
      self[.inFlight] = open.count
      let oldest = open.works.first
      self[.oldestInFlight] = oldest.flatMap { snapshot.process.age(since: $0.uptime) }
      inFlightValues = (oldest?.values ?? []).map { Tag(name: $0.name, value: $0.value) }
      if oldest?.values.contains(where: \.isCut) == true { isCut = true }
    }
    isComplete = snapshot.capture.isComplete
    ownFrames = verdict?.ownFrames ?? []
    stack = verdict?.stack ?? []
    tags = snapshot.annotations.sorted { $0.key < $1.key }.map {
      Tag(name: $0.key, value: $0.value)
    }
  }
}
