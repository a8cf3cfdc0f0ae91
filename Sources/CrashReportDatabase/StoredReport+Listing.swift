internal import IntermediateDump
internal import PendingDumps

extension StoredReport {
  /// - Parameter metadata: nil if it is missing or damaged.
  init(
    _ id: ReportID, _ state: State, _ status: FileStatus, _ metadata: ReportMetadata?,
    in directory: borrowing Directory
  ) {
    self.id = id
    self.state = state
    creationTime = Timestamp(
      seconds: metadata?.creationTime ?? status.modificationTime / 1_000_000_000)
    size = status.size
    upload = ReportUpload(metadata)
    modificationTime = status.modificationTime
    changeTime = status.changeTime
    self.directory = directory.path
  }
}
