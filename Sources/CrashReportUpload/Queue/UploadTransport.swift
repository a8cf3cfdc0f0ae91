internal import CUploadTransfer
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// A request to a server.
package struct UploadRequest: Sendable {
  let url: String
  let headers: [String: String]
  /// The file with the body.
  let bodyPath: String
  /// The size of the body in bytes.
  let bodySize: Int64
  /// The request fails after this many seconds without progress.
  let timeout: Int
  /// The request fails after this many seconds, whatever its progress.
  let deadline: Int
}

/// A server's answer.
package struct UploadResponse: Sendable, Equatable {
  package var status: Int
  /// The value of the header Retry-After, unchanged.
  package var retryAfter: String?
  /// The value of the header X-Sentry-Rate-Limits, unchanged.
  var rateLimits: String?
  /// The value of the header Location, unchanged.
  var location: String?
  /// The first 64 KiB of the body.
  var body: [UInt8] = []

  package init(
    status: Int, retryAfter: String? = nil, rateLimits: String? = nil, location: String? = nil,
    body: [UInt8] = []
  ) {
    (self.status, self.retryAfter, self.rateLimits) = (status, retryAfter, rateLimits)
    (self.location, self.body) = (location, body)
  }
}

/// Sends requests; tests use an implementation without a network.
package protocol UploadTransport: Sendable {
  /// Checks that this process can send requests, without sending any.
  ///
  /// - Returns: the build ID of the library that sends them; empty if there is none.
  /// - Throws: `UploadError` with the code `noTransport`, and a sentence for people as context.
  func check() throws(UploadError) -> [UInt8]

  /// Sends a request with its body from disk, without following redirects.
  ///
  /// If the task is canceled, the function ends soon, whatever the server does.
  ///
  /// - Throws: `UploadError` with the code `noAnswer` or `cancelled`.
  func send(
    _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
  ) async throws(UploadError) -> UploadResponse
}

extension UploadTransport {
  /// A transport without a library can always send requests.
  package func check() throws(UploadError) -> [UInt8] { [] }
}

/// Sends requests with libcurl, which the first request loads unless the program has already loaded it.
///
/// libcurl is not loaded if it would call functions of the program or a plugin instead of those of its own libraries
/// (`LibraryClosure`). This is checked before the first request.
///
/// Each request has a separate thread. The thread uses libcurl's easy interface through its multi interface, and sleeps
/// until there is work, a time limit is reached, or the transfer is canceled. The certificates of servers are checked
/// against the system's root certificates. The environment variables `http_proxy`, `https_proxy`, `all_proxy` and
/// `no_proxy` choose the proxy, but not in a program with more privileges than its user.
///
/// Source: curl(1), ENVIRONMENT; libcurl-multi(3), curl_multi_poll(3).
package struct LibcurlTransport: UploadTransport {
  package init() {}

  package func check() throws(UploadError) -> [UInt8] { try TransferLibrary.find().buildID }

  package func send(
    _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
  ) async throws(UploadError) -> UploadResponse {
    guard let transfer = Transfer(request, with: try TransferLibrary.find(), progress) else {
      throw UploadError(.noAnswer, "no memory for a request")
    }
    return try await transfer.run().response(to: request)
  }
}

/// One HTTP request, which runs on a separate thread.
@safe final class Transfer: @unchecked Sendable {
  /// The result of the request, copied out of libcurl's memory.
  struct Answer: Sendable {
    let result: pm_transfer_result
    let status: Int
    let headers: [UInt8]
    let body: [UInt8]
    let reason: String
    /// The number of times that the transfer's thread woke up.
    let wakes: UInt64
  }

  private let transfer: OpaquePointer
  private let request: UploadRequest
  private let progress: @Sendable (Int64) -> Void

  init?(
    _ request: UploadRequest, with library: SharedLibrary,
    _ progress: @escaping @Sendable (Int64) -> Void
  ) {
    guard let transfer = unsafe pm_transfer_make(library.path) else { return nil }
    unsafe self.transfer = transfer
    self.request = request
    self.progress = progress
  }

  deinit { unsafe pm_transfer_free(transfer) }

  func run() async -> Answer {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        do throws(CrashReportDatabaseError) {
          try WorkThread.start {
            unsafe pm_transfer_name_thread(UploaderThread.name)
            continuation.resume(returning: self.runHere())
            unsafe pm_transfer_end(self.transfer)
          }
        } catch {
          continuation.resume(
            returning: Answer(
              result: PM_TRANSFER_FAILED, status: 0, headers: [], body: [], reason: "\(error)",
              wakes: 0))
        }
      }
    } onCancel: {
      unsafe pm_transfer_cancel(transfer)
    }
  }

  private func runHere() -> Answer {
    for (name, value) in request.headers {
      unsafe pm_transfer_add_header(transfer, "\(name): \(value)")
    }
    // With an empty header `Expect`, libcurl sends the body without waiting until the server asks for the body.
    unsafe pm_transfer_add_header(transfer, "Expect:")
    let body = unsafe open(request.bodyPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    defer { if body >= 0 { close(body) } }
    let milliseconds = { (seconds: Int) in Int64(seconds).clampedMultiplied(by: 1000) }
    let answer = unsafe pm_transfer_run(
      transfer, request.url, body, request.bodySize, milliseconds(request.timeout),
      milliseconds(request.deadline),
      { context, bytes in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().progress(bytes)
      }, Unmanaged.passUnretained(self).toOpaque())
    return unsafe Answer(
      result: answer.result, status: Int(answer.status),
      headers: Array(UnsafeBufferPointer(start: answer.headers, count: answer.headers_size)),
      body: Array(UnsafeBufferPointer(start: answer.body, count: answer.body_size)),
      reason: String(cString: answer.reason), wakes: answer.wakes)
  }
}

extension UploadError {
  /// The error for a transfer that ended without an answer.
  ///
  /// - Parameters:
  ///   - timeout: the number of seconds without progress after which a transfer is ended.
  ///   - deadline: the number of seconds after which a transfer is ended in any case.
  init(_ result: pm_transfer_result, _ reason: String, timeout: Int, deadline: Int) {
    switch result {
    case PM_TRANSFER_CANCELLED: self.init(.cancelled, "")
    case PM_TRANSFER_IDLE: self.init(.noAnswer, "no progress for \(timeout) s")
    case PM_TRANSFER_LATE: self.init(.noAnswer, "not done after \(deadline) s")
    case PM_TRANSFER_NO_LIBRARY: self.init(.noAnswer, "libcurl could not be loaded")
    case PM_TRANSFER_FAILED where !reason.isEmpty: self.init(.noAnswer, reason)
    default: self.init(.noAnswer, "the server gave no HTTP answer")
    }
  }
}

extension Transfer.Answer {
  fileprivate func response(to request: UploadRequest) throws(UploadError) -> UploadResponse {
    guard result == PM_TRANSFER_DONE, status > 0 else {
      throw UploadError(result, reason, timeout: request.timeout, deadline: request.deadline)
    }
    return UploadResponse(
      status: status, retryAfter: value(of: "retry-after"),
      rateLimits: value(of: "x-sentry-rate-limits"), location: value(of: "location"), body: body)
  }

  /// The value of the first header with the given name.
  private func value(of name: String) -> String? {
    for line in headers.split(separator: 0x0A) {
      let parts = line.split(
        separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, String(decoding: parts[0], as: UTF8.self).lowercased() == name else {
        continue
      }
      return String(decoding: parts[1], as: UTF8.self).withoutOuterWhitespace
    }
    return nil
  }
}
