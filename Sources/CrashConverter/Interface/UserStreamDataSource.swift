public import ProcessSnapshot

/// The program's own code that adds a stream to a minidump when a dump is converted.
///
/// A stream can contain the results of an analysis that is not possible during a crash. One example is an analysis of
/// the records of a memory allocator that `ExtraMemory` captured.
///
/// Source: Crashpad `handler/user_stream_data_source.h`.
public protocol UserStreamDataSource: Sendable {
  /// Makes the stream of one report.
  ///
  /// The converter calls this function outside signal handlers, on the thread that converts the dump. If the process
  /// that made the previous attempt ended during the conversion of this dump, the dump is converted without this
  /// stream. Reports whose privacy is not `full` have no such streams either.
  ///
  /// - Parameter process: the crashed process, as the dump describes it.
  /// - Returns: nil to add no stream. A stream has at most 16 MiB. A report has at most 16 streams, with 64 MiB in
  ///   total. A stream is refused if its number belongs to Microsoft, Breakpad, Crashpad or this package, or is
  ///   already used.
  /// - Throws: any error; the report is then made without the stream, and contains the error as the reason.
  func stream(of process: CrashedProcess) throws -> UserStream?
}
