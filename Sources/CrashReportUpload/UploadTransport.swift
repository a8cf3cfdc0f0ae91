internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// A request to a server.
struct UploadRequest: Sendable {
  let url: String
  let headers: [String: String]
  /// The file with the body.
  let bodyPath: String
  /// In bytes.
  let bodySize: Int64
  /// Seconds without progress after which it has failed.
  let timeout: Int
}

/// A server's answer.
struct UploadResponse: Sendable, Equatable {
  var status: Int
  /// The header Retry-After, as it came.
  var retryAfter: String?
  /// The header Location, as it came.
  var location: String?
  /// The first 4 KiB.
  var body: [UInt8] = []
}

/// Sends requests; tests have one without a network.
protocol UploadTransport: Sendable {
  /// Sends a request, its body from disk, without following redirects.
  ///
  /// Returns soon after the task is cancelled, whatever the server does.
  ///
  /// - Throws: `UploadError` of the codes `noAnswer` and `cancelled` only.
  func send(
    _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
  ) async throws(UploadError) -> UploadResponse
}

/// Sends by Foundation's URLSession, which is libcurl on Linux.
///
/// libcurl checks certificates against the system's, and takes `http_proxy`, `https_proxy`,
/// `all_proxy` and `no_proxy` from the environment.
///
/// Source: curl(1), ENVIRONMENT; swift-corelibs-foundation `Sources/FoundationNetworking`.
struct URLSessionTransport: UploadTransport {
  func send(
    _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
  ) async throws(UploadError) -> UploadResponse {
    guard let url = URL(string: request.url) else {
      throw UploadError(.noAnswer, "the URL cannot be used")
    }
    var urlRequest = URLRequest(url: url)
    urlRequest.httpMethod = "POST"
    for (name, value) in request.headers { urlRequest.setValue(value, forHTTPHeaderField: name) }
    // A stream is read as it is sent. An upload task from a file traps in Foundation 6.3 where the
    // server has answered before the file is read (libcurl error 43 in EasyHandle.swift).
    urlRequest.httpBodyStream = InputStream(fileAtPath: request.bodyPath)
    // A stream would be sent chunked, which some servers take for an empty body. With both headers
    // libcurl sends no chunks, and leaves out the blank one.
    urlRequest.setValue("\(request.bodySize)", forHTTPHeaderField: "Content-Length")
    urlRequest.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = TimeInterval(request.timeout)
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    let delegate = UploadDelegate(progress)
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let task = session.dataTask(with: urlRequest)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        delegate.start(continuation)
        task.resume()
      }
    } onCancel: {
      delegate.end(.failure(UploadError(.cancelled, "")))
      task.cancel()
    }
    session.invalidateAndCancel()
    return try result.get()
  }
}

/// Receives the events of one upload.
private final class UploadDelegate: NSObject, URLSessionDataDelegate {
  typealias Answer = Result<UploadResponse, UploadError>

  /// Bytes of an answer that are kept; a server's ID is short.
  private static let maximumBody = 4 << 10
  /// Bytes of an answer that are waited for.
  private static let maximumAnswer = 64 << 10

  private struct State {
    var continuation: CheckedContinuation<Answer, Never>?
    var result: Answer?
    var response: UploadResponse?
    var received = 0
  }
  private let state = Mutex(State())
  private let progress: @Sendable (Int64) -> Void

  init(_ progress: @escaping @Sendable (Int64) -> Void) { self.progress = progress }

  func start(_ continuation: CheckedContinuation<Answer, Never>) {
    let early = state.withLock { state -> Answer? in
      if state.result == nil { state.continuation = continuation }
      return state.result
    }
    if let early { continuation.resume(returning: early) }
  }

  /// The first end counts.
  func end(_ result: Answer) {
    let waiting = state.withLock { state -> CheckedContinuation<Answer, Never>? in
      guard state.result == nil else { return nil }
      state.result = result
      defer { state.continuation = nil }
      return state.continuation
    }
    waiting?.resume(returning: result)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend: Int64
  ) {
    progress(totalBytesSent)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping (URLRequest?) -> Void
  ) {
    // Memory of a process goes nowhere but to the URL that was given.
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse {
      state.withLock {
        $0.response = UploadResponse(
          status: response.statusCode,
          retryAfter: response.value(forHTTPHeaderField: "Retry-After"),
          location: response.value(forHTTPHeaderField: "Location"))
      }
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let tooLong = state.withLock { state -> UploadResponse? in
      let room = Self.maximumBody - (state.response?.body.count ?? 0)
      if room > 0 { state.response?.body += data.prefix(room) }
      state.received += data.count
      return state.received > Self.maximumAnswer ? state.response : nil
    }
    guard let tooLong else { return }
    end(.success(tooLong))
    dataTask.cancel()
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    if let error {
      return end(.failure(UploadError(.noAnswer, Self.reason(of: error))))
    }
    let response = state.withLock { $0.response }
    end(
      response.map { .success($0) }
        ?? .failure(UploadError(.noAnswer, "the server gave no HTTP answer")))
  }

  /// Foundation's own text where it has one.
  private static func reason(of error: any Error) -> String {
    let error = error as NSError
    if let text = error.userInfo[NSLocalizedDescriptionKey] as? String { return text }
    switch error.code {
    case NSURLErrorTimedOut: return "no progress for too long"
    case NSURLErrorNetworkConnectionLost: return "the connection was lost"
    case NSURLErrorCannotConnectToHost: return "no connection to the server"
    case NSURLErrorCannotFindHost: return "the server's name is not known"
    case NSURLErrorSecureConnectionFailed, NSURLErrorServerCertificateUntrusted:
      return "the server's certificate is not trusted"
    default: return "\(error.domain) \(error.code)"
    }
  }
}
