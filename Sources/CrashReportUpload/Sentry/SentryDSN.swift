internal import FoundationEssentials
internal import Glibc

/// The address of a project at Sentry, or at a server with the same protocol.
///
/// Source: develop.sentry.dev, "SDK Overview", Parsing the DSN.
package struct SentryDSN: Sendable, Equatable, CustomStringConvertible {
  package let scheme: String
  /// The key that identifies the sender to the server.
  ///
  /// This key is not secret, but messages do not contain it.
  package let publicKey: String
  /// The secret key, which only old servers use; nil if the DSN has none.
  package let secretKey: String?
  package let host: String
  package let port: Int?
  /// The path before the project's ID, with a slash at its beginning; empty if the DSN has no such path.
  package let path: String
  package let projectID: String

  /// Reads `SCHEME://KEY[:SECRET]@HOST[:PORT][/PATH]/PROJECT`.
  ///
  /// - Throws: `UploadError` with the code `invalidDSN`, whose message does not contain the text.
  package init(_ text: String) throws(UploadError) {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      scheme == "https" || scheme == "http"
    else { throw Self.error("it must begin with http:// or https://") }
    guard let host = parts.host, !host.isEmpty else { throw Self.error("it names no host") }
    guard let key = parts.user, Self.isWord(key) else {
      throw Self.error("it has no public key before the '@'")
    }
    if let secret = parts.password, !Self.isWord(secret) {
      throw Self.error("its secret key has a character that keys cannot have")
    }
    guard parts.query == nil, parts.fragment == nil else {
      throw Self.error("nothing may follow the project's ID")
    }
    let names = parts.percentEncodedPath.split(separator: "/")
    guard let project = names.last, Self.isWord(String(project)) else {
      throw Self.error("its last part is not a project ID")
    }
    self.scheme = scheme
    publicKey = key
    secretKey = parts.password
    self.host = host
    port = parts.port
    path = names.dropLast().map { "/" + $0 }.joined()
    projectID = String(project)
  }

  private static func error(_ reason: String) -> UploadError {
    UploadError(.invalidDSN, "\(reason); give it as https://KEY@HOST/PROJECT")
  }

  private static func isWord(_ text: String) -> Bool {
    !text.isEmpty
      && text.unicodeScalars.allSatisfy { character in
        switch character {
        case "0"..."9", "a"..."z", "A"..."Z", "_", "-": true
        default: false
        }
      }
  }

  /// The host and the port, as they are written in a URL.
  private var authority: String {
    (host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)
      + (port.map { ":\($0)" } ?? "")
  }

  /// The address to which envelopes are posted.
  package var envelopeURL: String {
    "\(scheme)://\(authority)\(path)/api/\(projectID)/envelope/"
  }

  /// The DSN without the secret key, for an envelope's header.
  package var description: String {
    "\(scheme)://\(publicKey)@\(authority)\(path)/\(projectID)"
  }

  /// The value of the header `X-Sentry-Auth`.
  ///
  /// Source: develop.sentry.dev, "Authentication".
  package var authorization: String {
    "Sentry sentry_version=7, sentry_client=\(SentryEvent.client), sentry_key=\(publicKey)"
      + (secretKey.map { ", sentry_secret=\($0)" } ?? "")
  }
}
