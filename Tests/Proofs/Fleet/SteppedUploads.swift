import CrashReportDatabase
import CrashReportUpload

/// The uploads of a running process, step by step; the caller supplies the time and the network.
///
/// It runs the same code as `ReportUploader`.
struct SteppedUploads: Sendable {
  /// The answer of a server; the status is 0 if there is none.
  struct Answer: Sendable {
    var status: Int
    /// The header Retry-After.
    var retryAfter: String? = nil
  }

  /// A request over the network.
  struct Request: Sendable {
    fileprivate let request: UploadRequest

    /// Sends the request to its URL.
    func send() async -> Answer {
      do throws(UploadError) {
        let response = try await LibcurlTransport().send(request) { _ in }
        return Answer(status: response.status, retryAfter: response.retryAfter)
      } catch {
        return Answer(status: 0)
      }
    }
  }

  private struct Network: UploadTransport {
    let answer: @Sendable (Request) async -> Answer

    func send(
      _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(UploadError) -> UploadResponse {
      let answer = await answer(Request(request: request))
      guard answer.status > 0 else { throw UploadError(.noAnswer, "the answer was lost") }
      return UploadResponse(status: answer.status, retryAfter: answer.retryAfter)
    }
  }

  private var uploads: StandingUploads

  /// Starts like a process that has just started.
  ///
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - random: a number from 0 to 1.
  ///   - answer: receives each request and returns the answer.
  init(
    _ database: CrashReportDatabase, to target: UploadTarget,
    now: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> Double,
    answer: @escaping @Sendable (Request) async -> Answer
  ) {
    uploads = StandingUploads(
      database, to: target, transport: Network(answer: answer),
      clock: UploadClock(now: now, sleep: { _ in }, random: random))
  }

  /// Sends the reports that are due.
  ///
  /// - Returns: the seconds until the next pass.
  mutating func pass() async -> Int64 { await uploads.pass() }
}
