internal import IntermediateDump
package import PendingDumps
internal import ProcessSnapshot

extension RunEvidence {
  static let mapFields = MapFields(
    RunEvidence(time: 0),
    [
      .required(.evidenceTime, \.time),
      .optional(.evidenceUptime, \.uptime),
      .optional(.evidenceMachineKills, \.machineKills),
      .optional(.evidenceGroupKills, \.groupKills),
      .optional(.evidenceGroupProcesses, \.groupProcesses),
      .optional(.cgroup, \.cgroup),
      .optional(.memoryUsed, \.memoryUsed),
      .optional(.memoryLimit, \.memoryLimit),
      .optional(.evidenceResidentMemory, \.residentMemory),
      .optional(.evidenceMachineMemory, \.machineMemory),
      .optional(.evidenceAvailableMemory, \.availableMemory),
      .lines(.evidenceLockedFiles, \.lockedFiles),
      .optional(.evidenceHangReport, \.hangReport),
      .optional(.openContexts, \.openContexts),
      .array(.breadcrumbs, of: .breadcrumb, \.breadcrumbs, Breadcrumb.mapFields),
    ])

  /// Reads a heartbeat; nil if none was written, or if it is damaged, incomplete or has no time.
  package init?(heartbeat bytes: ArraySlice<UInt8>) {
    guard bytes.count == Self.heartbeatSize,
      let size = bytes.littleEndian(at: 0, as: UInt32.self).map(Int.init), size > 0,
      size <= Self.heartbeatSize - 4,
      let document = try? IntermediateDumpDocument(
        parsing: Array(bytes.dropFirst(4).prefix(size))), document.isComplete,
      let evidence = document.root.map(.runEvidence).flatMap(Self.mapFields.value(of:))
    else { return nil }
    self = evidence
  }
}

extension RunEvidence.Breadcrumb {
  fileprivate static let mapFields = MapFields(
    RunEvidence.Breadcrumb(uptime: 0, threadID: 0, text: ""),
    [
      .value(.breadcrumbUptime, \.uptime),
      .value(.breadcrumbThreadID, \.threadID),
      .required(.breadcrumbText, \.text),
      .optional(.breadcrumbLevel, \.level),
      .value(.breadcrumbMetadata, \.metadata),
    ])
}
