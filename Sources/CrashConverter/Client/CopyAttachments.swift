internal import CrashReportDatabase
internal import IntermediateDump
internal import ProcessSnapshot

extension DumpConversion {
  /// The maximum number of bytes that are copied from one file, and from all files of a report together.
  static let maximumAttachmentSize: Int64 = 4 << 20
  static let maximumAttachmentTotal: Int64 = 16 << 20
  /// The maximum number of files of one report; a handler does not register more.
  static let maximumAttachments = 16

  /// Copies the program's registered attachments into the database, and records the result for each.
  ///
  /// - Throws: an error that the file did not cause, such as a lack of descriptors. The next attempt may then be able
  ///   to copy the file. In the last attempt, a failed copy is only recorded, because the report is more important than
  ///   its attachments.
  func copyAttachments(
    of snapshot: inout ProcessSnapshot, to reportID: ReportID, from reader: AttachmentReader,
    isLastAttempt: Bool
  ) throws(Failure) {
    let paths = snapshot.client.attachments.map(\.path)
    let names = StoredAttachment.names(for: Array(paths.prefix(Self.maximumAttachments)))
    var left = Self.maximumAttachmentTotal
    for index in snapshot.client.attachments.indices {
      guard index < names.count else {
        snapshot.client.attachments[index].failure =
          "more than \(Self.maximumAttachments) attachments"
        continue
      }
      guard left > 0 else {
        snapshot.client.attachments[index].failure =
          "more than \(Self.maximumAttachmentTotal) bytes together with the earlier ones"
        continue
      }
      do throws(CrashReportDatabaseError) {
        let copy = try database.attach(
          paths[index], as: names[index], to: reportID,
          limit: min(left, Self.maximumAttachmentSize), asUser: try reader.user)
        left &-= copy.size
        snapshot.client.attachments[index].name = names[index]
        snapshot.client.attachments[index].size = UInt64(clamping: copy.size)
        snapshot.client.attachments[index].bytesOmitted = UInt64(clamping: copy.bytesOmitted)
      } catch {
        guard isLastAttempt || !SystemRefusals.isPassing(error.errno) else {
          throw Failure(reason: "attachment: \(error)", isOfDump: true)
        }
        snapshot.client.attachments[index].failure = error.description
      }
    }
  }
}
