internal import CrashReportDatabase
internal import Foundation
public import IntermediateDump

/// The contents of each upload beside the report, and the pace of uploads.
public struct UploadOptions: Sendable, Equatable {
  /// Form fields that are sent with each report, in place of annotations of the same name.
  public var fields: [String: String] = [:]
  /// The secrets that what is sent may hold; the database's reports stay as they are.
  ///
  /// Attachments are sent with `full` only.
  public var privacy = ReportPrivacy.full
  /// HTTP headers that are sent with each report, an authorization for one.
  public var headers: [String: String] = [:]
  /// The time between the beginnings of two uploads from the database, by any process; in whole
  /// seconds.
  ///
  /// Reports wait for their turn; none is dropped.
  public var interval = Duration.seconds(60)
  /// The time without progress after which an upload has failed; in whole seconds, at least one.
  public var timeout = Duration.seconds(60)

  /// The time after which an upload has failed, whatever its progress; in whole seconds, at least one.
  public var deadline = Duration.seconds(900)

  /// The defaults: no fields, nothing left out, no headers, an upload a minute, 15 minutes for each at most.
  public init() {}
}

/// The server and the options of uploads, checked once.
package struct UploadTarget: Sendable {
  let url: String
  let options: UploadOptions
  /// Scheme, host and port, for messages: a query may hold a key.
  let place: String

  package init(url text: String, options: UploadOptions) throws(UploadError) {
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
      guard
        !["content-type", "content-length", "transfer-encoding", "host"].contains(
          name.lowercased())
      else { throw UploadError(.invalidHeader, "the header \(name) is the uploader's own") }
    }
    self.url = text
    self.options = options
    place = "\(scheme)://\(host)" + (url.port.map { ":\($0)" } ?? "")
  }

  /// Source: RFC 9110, 5.6.2.
  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy {
        (0x21...0x7E).contains($0) && !"()<>@,;:\\\"/[]?={}".utf8.contains($0)
      }
  }
}

/// The reason why uploads could not be started, or not be made at all.
///
/// The failure of one upload is no error: an `UploadEvent` reports it, and it is tried again.
public struct UploadError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; an open set.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// The text is no URL of http or https with a host.
    public static let invalidURL = Code(description: "invalid URL")
    /// A header's or field's name or value cannot be sent.
    public static let invalidHeader = Code(description: "invalid header")
    /// The database cannot be used.
    public static let databaseUnusable = Code(description: "the database cannot be used")
    /// The database has no such report, or the server has it already.
    public static let noSuchReport = Code(description: "no such report to upload")
    /// Another process, or another uploader of this one, is at work.
    public static let uploaderBusy = Code(description: "another uploader is at work")
    /// This uploader was started before.
    public static let alreadyStarted = Code(description: "the uploader was started already")
    /// The server did not answer; the context has the reason alone.
    package static let noAnswer = Code(description: "no answer")
    /// The task of the upload was cancelled.
    static let cancelled = Code(description: "cancelled")
  }

  public let code: Code
  /// The operation that failed, and a remedy where there is one.
  public let context: String
  /// The system's error number; 0 where the system had no part in it.
  public let errno: Int32

  package init(_ code: Code, _ context: String, errno: Int32 = 0) {
    self.code = code
    self.context = context
    self.errno = errno
  }

  init(_ error: CrashReportDatabaseError) {
    self.init(.databaseUnusable, error.description, errno: error.errno)
  }

  public var description: String { "\(code): \(context)" }
}
