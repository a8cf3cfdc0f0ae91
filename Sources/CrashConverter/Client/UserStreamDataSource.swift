public import ProcessSnapshot

/// The program's own code that adds a stream to a minidump when a dump is converted.
///
/// For analysis that needs more than a crash can do: of a memory allocator's records that
/// `ExtraMemory` kept, for example.
///
/// Source: Crashpad `handler/user_stream_data_source.h`.
public protocol UserStreamDataSource: Sendable {
  /// Makes the stream of one report.
  ///
  /// Called in ordinary code, on the thread that converts. A dump on which a converter has died
  /// before is converted without it.
  ///
  /// - Parameter process: what the dump tells.
  /// - Returns: nil for none. At most 16 MiB, 16 streams and 64 MiB for a report; a number of
  ///   Microsoft, Breakpad, Crashpad or this package, and one that is there already, is refused.
  /// - Throws: anything: the report is made without the stream, and says why.
  func stream(of process: CrashedProcess) throws -> UserStream?
}
