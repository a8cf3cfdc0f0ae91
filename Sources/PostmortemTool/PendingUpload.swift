internal import CrashReportDatabase
internal import CrashReportUpload
internal import Foundation

/// What `run` sends after the program's end; errors are told and change nothing.
struct PendingUpload {
  /// Nobody waits longer for the end of a container.
  private static let patience = 30

  private let url: String
  private let options: UploadOptions

  init(url: String, headers: [String: String]) throws(UploadError) {
    self.url = url
    var options = UploadOptions()
    options.headers = headers
    options.timeout = Self.patience
    self.options = options
    try checkUpload(to: url, options: options)
  }

  func send(from path: String) {
    guard InputFile.isFolder(path + "/pending") else { return }
    do {
      guard try CrashReportDatabase(path: path).uploadsEnabled() else {
        return Terminal.printError(
          ToolError(
            path: path, "uploads are not enabled, nothing is sent: see postmortem upload --enable"
          ).description)
      }
    } catch {
      return Terminal.printError(error.description)
    }
    let (url, options) = (url, options)
    let failure = AwaitedTask.run(seconds: Self.patience) { () async -> UploadError? in
      do throws(UploadError) {
        _ = try await uploadReports(nil, database: path, to: url, options: options) { event in
          switch event {
          case .began, .progressed: break
          default: Terminal.printError(event.description.escapedForMessage)
          }
        }
        return nil
      } catch {
        return error
      }
    }
    if let failure = failure ?? nil { Terminal.printError(failure.description.escapedForMessage) }
  }
}
