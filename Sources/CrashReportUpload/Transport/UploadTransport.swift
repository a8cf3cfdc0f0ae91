/// One request on its way out.
struct UploadRequest: Sendable {
  let url: String
  let headers: [String: String]
  /// The body's path.
  let bodyPath: String
  /// In bytes.
  let bodySize: Int64
  /// Seconds without progress after which it has failed.
  let timeout: Int
}

/// What a server answered.
struct UploadResponse: Sendable, Equatable {
  var status: Int
  /// The header Retry-After, as it came.
  var retryAfter: String?
  /// The header Location, as it came.
  var location: String?
  /// The first few KiB.
  var body: [UInt8] = []
}

/// Why there is no answer.
struct TransportFailure: Error {
  let reason: String
  /// True if this process gave it up.
  var isCancelled = false
}

/// Sends requests; tests have others than the network's.
protocol UploadTransport: Sendable {
  /// Sends one, from disk, without following redirects.
  ///
  /// Returns soon after the task is cancelled, whatever the server does.
  func send(
    _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
  ) async throws(TransportFailure) -> UploadResponse
}
