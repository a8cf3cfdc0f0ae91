public import ProcessSnapshot

/// The program's own code that adds a stream to a minidump when a dump is converted.
///
/// It is for analysis that is not possible during a crash, for example of a memory allocator's records that
/// `ExtraMemory` kept.
///
/// Source: Crashpad `handler/user_stream_data_source.h`.
public protocol UserStreamDataSource: Sendable {
  /// Makes the stream of one report.
  ///
  /// Called in ordinary code, on the thread that converts. If a converter has died on a dump before, the dump is
  /// converted without this stream.
  ///
  /// - Parameter process: the crashed process, as the dump describes it.
  /// - Returns: nil for none. A stream has at most 16 MiB, and a report at most 16 streams and 64 MiB of them. A
  ///   stream is refused if its number belongs to Microsoft, Breakpad, Crashpad or this package, or is already used.
  /// - Throws: anything: the report is made without the stream, and says why.
  func stream(of process: CrashedProcess) throws -> UserStream?
}
