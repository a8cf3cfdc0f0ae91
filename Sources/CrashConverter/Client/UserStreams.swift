internal import ProcessSnapshot

/// Collects the streams from the program's instances of `UserStreamDataSource`.
struct UserStreams {
  static let maximumCount = 16
  static let maximumSize = 16 << 20
  static let maximumTotal = 64 << 20

  let sources: [any UserStreamDataSource]

  /// Adds the sources' streams to a snapshot and, for each stream that is not added, the reason.
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
    if streams.contains(where: { $0.type == stream.type }) { return "its number is already in use" }
    if stream.bytes.count > Self.maximumSize { return "more than \(Self.maximumSize) bytes" }
    if stream.bytes.count > Self.maximumTotal - total {
      return "more than \(Self.maximumTotal) bytes together with the earlier ones"
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
