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

/// The part of a dump that a `UserStreamDataSource` sees.
public struct CrashedProcess: Sendable {
  private let snapshot: ProcessSnapshot

  init(_ snapshot: ProcessSnapshot) {
    self.snapshot = snapshot
  }

  /// Process ID, in the process's own PID namespace; nil for a torn dump that lost it.
  public var processID: UInt32? { snapshot.process.processID }
  /// The signal; nil for a dump without a crash.
  public var signal: Int32? { snapshot.exception?.signal }
  /// The address of a fault; nil where the signal has none.
  public var address: UInt64? { snapshot.exception?.address?.value }
  /// The program's annotations, by name.
  public var annotations: [String: String] { snapshot.annotations }

  /// `count` bytes of the process's memory, extra memory and stacks for example.
  ///
  /// - Returns: nil unless all of them were captured.
  public func bytes(at address: UInt64, count: Int) -> [UInt8]? {
    snapshot.memory.bytes(at: Address(address), count: count).map { Array($0) }
  }
}

/// Asks the sources.
struct UserStreams {
  static let maximumCount = 16
  static let maximumSize = 16 << 20
  static let maximumTotal = 64 << 20

  let sources: [any UserStreamDataSource]

  /// Adds what they make to a snapshot, and why something was not added.
  func add(to snapshot: inout ProcessSnapshot) {
    let process = CrashedProcess(snapshot)
    var total = 0
    for source in sources {
      do {
        guard let stream = try source.stream(of: process) else { continue }
        if let refusal = refusal(of: stream, among: snapshot.userStreams, total: total) {
          fail(source, refusal, in: &snapshot)
        } else {
          total += stream.bytes.count
          snapshot.userStreams.append(stream)
        }
      } catch {
        fail(source, "\(error)", in: &snapshot)
      }
    }
  }

  private func refusal(
    of stream: UserStream, among streams: [UserStream], total: Int
  ) -> String? {
    if let refusal = UserStream.refusal(of: stream.type) { return refusal }
    if streams.contains(where: { $0.type == stream.type }) { return "its number is there already" }
    if stream.bytes.count > Self.maximumSize { return "more than \(Self.maximumSize) bytes" }
    if stream.bytes.count > Self.maximumTotal - total {
      return "more than \(Self.maximumTotal) bytes with those before"
    }
    return streams.count < Self.maximumCount ? nil : "more than \(Self.maximumCount) streams"
  }

  private func fail(
    _ source: any UserStreamDataSource, _ reason: String, in snapshot: inout ProcessSnapshot
  ) {
    let reason = "\(type(of: source)): \(reason)"
    snapshot.client.userStreamFailures.append(String(reason.prefix(1024)))
  }
}
