internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump

/// The server and the options of uploads.
///
/// The initializer checks the URL and the headers.
package struct UploadTarget: Sendable {
  let url: String
  let server: any UploadServer
  let options: UploadOptions
  var sampling: SampledUploads { SampledUploads(sampling: options.sampling) }
  /// Scheme, host and port of the URL, for messages; the rest of the URL may contain a key.
  let place: String

  init(
    _ text: String, _ server: any UploadServer, _ options: UploadOptions
  ) throws(UploadError) {
    guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
      scheme == "https" || scheme == "http", let host = url.host, !host.isEmpty,
      URL(string: text) != nil
    else {
      throw UploadError(
        .invalidURL, "give the server's URL as http://HOST/PATH or https://HOST/PATH")
    }
    for (name, value) in options.headers {
      guard Self.isToken(name), value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        throw UploadError(
          .invalidHeader, "the header '\(name)' has a character that cannot be sent")
      }
      if Self.ownHeaders.contains(name.lowercased()) {
        throw UploadError(.invalidHeader, "the header \(name) is set by the uploader itself")
      }
    }
    self.url = text
    (self.server, self.options) = (server, options)
    place = "\(scheme)://\(host)" + (url.port.map { ":\($0)" } ?? "")
  }

  private static let ownHeaders: Set = [
    "content-type", "content-length", "content-encoding", "transfer-encoding", "host",
    "x-sentry-auth",
  ]

  /// Source: RFC 9110, 5.6.2.
  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy {
        (0x21...0x7E).contains($0) && !"()<>@,;:\\\"/[]?={}".utf8.contains($0)
      }
  }
}
