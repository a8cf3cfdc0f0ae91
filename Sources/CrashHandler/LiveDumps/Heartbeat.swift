internal import CSignalSafe
package import IntermediateDump
internal import PendingDumps

/// Writes down what this process sees now, over its last heartbeat in the run record.
///
/// For a thread that looks at the program anyway. Some ten small files of the system are read and
/// one write is made; nothing where the handler does not follow how the run ends. A record that
/// cannot be written keeps its last heartbeat.
///
/// - Parameter hangReport: the dump of a hang that lasts.
package func writeHeartbeat(hangReport: ReportID?) {
  guard let capture = Capture.ofHandler else { return }
  let file = RunNoteFile(capture)
  guard file.isOurs else { return }
  let cgroup = Cgroup.current()
  var evidence = RunEvidence.current(cgroup.memory)
  cgroup.close()
  evidence.lockedFiles = LockedFiles.current()
  evidence.hangReport = hangReport
  guard let bytes = evidence.heartbeatBytes() else { return }
  unsafe bytes.withUnsafeBytes { buffer in
    if let base = buffer.baseAddress {
      _ = unsafe file.write(base, buffer.count, at: RunEvidence.heartbeatOffset)
    }
  }
}
