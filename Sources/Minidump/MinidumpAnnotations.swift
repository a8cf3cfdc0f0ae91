public import IntermediateDump
internal import ProcessSnapshot

/// The IDs and annotations in Crashpad's stream of a minidump, read without the rest of the file.
///
/// This type is for programs that forward minidumps and need not read the threads and the memory. The annotations of
/// modules are left out.
///
/// Source: Crashpad `minidump/minidump_extensions.h`, MinidumpCrashpadInfo.
public struct MinidumpAnnotations: Sendable, Equatable {
  /// The ID of the report; nil if the minidump does not contain it.
  public let reportID: ReportID?
  /// The client ID, which identifies the database that the report comes from; nil if the minidump does not contain it.
  public let clientID: ReportID?
  /// The simple annotations; if two have the same name, the first one is used.
  public let annotations: [String: String]

  /// The maximum number of bytes that are copied from the file.
  private static let maximumSize = 64 << 20

  /// Reads a minidump with a bounded amount of memory; never traps, whatever bytes the file contains.
  ///
  /// - Returns: nil if the file is not a minidump; a missing or damaged stream is not an error.
  package init?(of bytes: DumpBytes) {
    guard let file = try? MinidumpFile(bytes, copying: Self.maximumSize) else { return nil }
    var decoder = MinidumpDecoder(file: file)
    decoder.decodeCrashpadInfo()
    reportID = decoder.snapshot.reportID
    clientID = decoder.snapshot.clientID
    annotations = decoder.snapshot.launchAnnotations
  }
}
