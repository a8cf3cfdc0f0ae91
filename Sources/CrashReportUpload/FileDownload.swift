internal import CUploadTransfer
internal import CrashReportDatabase
internal import IntermediateDump

/// Downloads a file by HTTP or HTTPS, while the calling thread waits and receives signals.
package struct FileDownload {
  /// The maximum size in bytes; a larger file is an error.
  package var maximumSize: Int64
  /// The longest time without progress (`timeout`) and the longest time of the whole download (`deadline`), in
  /// seconds.
  package var timeout: Int
  package var deadline: Int

  package init(maximumSize: Int64, timeout: Int, deadline: Int) {
    (self.maximumSize, self.timeout, self.deadline) = (maximumSize, timeout, deadline)
  }

  private final class Progress {
    let report: (Int64) -> Void
    init(_ report: @escaping (Int64) -> Void) { self.report = report }
  }

  /// Downloads a URL into an open file.
  ///
  /// - Parameters:
  ///   - descriptor: the file that receives the contents if the status is 200; after an error, the file may contain a
  ///     part of the contents.
  ///   - progress: called with the number of bytes that were written so far.
  /// - Returns: the HTTP status of the answer. A status such as 404 or 500 does not throw.
  /// - Throws: `UploadError` with the code `noAnswer` or `noTransport`.
  package func run(
    _ url: String, to descriptor: Int32, progress: @escaping (Int64) -> Void
  ) throws(UploadError) -> Int {
    let library = try TransferLibrary.find()
    let outcome: Result<Int, UploadError>
    do {
      outcome = try WorkThread.run {
        Result { () throws(UploadError) in
          try runHere(url, with: library, to: descriptor, Progress(progress))
        }
      }
    } catch {
      throw UploadError(.noAnswer, "\(error)")
    }
    return try outcome.get()
  }

  private func runHere(
    _ url: String, with library: SharedLibrary, to descriptor: Int32, _ progress: Progress
  ) throws(UploadError) -> Int {
    guard let transfer = unsafe pm_transfer_make(library.path) else {
      throw UploadError(.noAnswer, "no memory")
    }
    defer { unsafe pm_transfer_free(transfer) }
    let answer = unsafe withExtendedLifetime(progress) {
      unsafe pm_transfer_fetch(
        transfer, url, descriptor, maximumSize, Int64(timeout).clampedMultiplied(by: 1000),
        Int64(deadline).clampedMultiplied(by: 1000),
        { context, bytes in
          guard let context = unsafe context else { return }
          unsafe Unmanaged<Progress>.fromOpaque(context).takeUnretainedValue().report(bytes)
        }, Unmanaged.passUnretained(progress).toOpaque())
    }
    defer { unsafe pm_transfer_end(transfer) }
    guard unsafe answer.result == PM_TRANSFER_DONE && answer.status > 0 else {
      throw unsafe UploadError(
        answer.result, String(cString: answer.reason), timeout: timeout, deadline: deadline)
    }
    return unsafe Int(answer.status)
  }
}
