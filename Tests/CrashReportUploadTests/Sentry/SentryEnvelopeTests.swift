import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import CrashReportUpload

/// Another project's parser reads our envelopes.
@Suite(.needs(.python3))
struct SentryEnvelopeTests {
  private let uploads: UploadDatabase
  private let server: PythonServer

  init() throws {
    uploads = try UploadDatabase()
    server = try PythonServer(in: uploads.directory)
  }

  @Test func theMinidumpGoesAlongAsAPlainAttachmentAsEventMinidumpOnlyWhereAskedFor() async throws {
    for readsMinidump in [false, true] {
      let id = try uploads.addReport(annotations: ["tenant": "a"])
      try uploads.directory.put([1, 2, 3], "log.txt")
      _ = try uploads.database.attach(
        uploads.directory.path + "/log.txt", as: "log.txt", to: id, limit: .max)
      var options = UploadOptions()
      options.sentryReadsMinidump = readsMinidump
      let engine = try uploads.engine(dsn: server.dsn("ok"), options: options)
      #expect(try await uploads.send(id, by: engine) == .uploaded)
      let form = try #require(try server.forms.last)
      #expect(form.path == "/ok/api/1/envelope/" && form.defects == [])
      #expect(form.headers["Content-Encoding"] == "gzip", "zlib is on this machine")
      #expect(form.headers["X-Sentry-Auth"]?.contains("sentry_key=key") == true)
      #expect(form.headers["Content-Type"] == "application/x-sentry-envelope")
      #expect(form.order == ["event", "attachment", "attachment"])
      #expect(
        form.items?.map(\.attachment_type) == [
          nil, readsMinidump ? "event.minidump" : "event.attachment", "event.attachment",
        ])
      #expect(form.fields["tenant"] == "a" && form.fields["report_id"] == "\(id)")
      #expect(form.files["upload_file_minidump"]?.size == (try uploads.bytes(id).count))
      #expect(form.files["log.txt"]?.size == 3)
    }
  }

  @Test func aSanitisedReportGoesWithoutAttachmentsAndAnnotations() async throws {
    let id = try uploads.addReport(annotations: ["tenant": "hunter2"])
    try uploads.directory.put([1, 2, 3], "log.txt")
    _ = try uploads.database.attach(
      uploads.directory.path + "/log.txt", as: "log.txt", to: id, limit: .max)
    var options = UploadOptions()
    options.privacy = .sanitized
    let engine = try uploads.engine(dsn: server.dsn("ok"), options: options)
    #expect(try await uploads.send(id, by: engine) == .uploaded)
    let form = try #require(try server.forms.last)
    #expect(form.order == ["event", "attachment"] && form.fields["tenant"] == nil)
  }

  @Test func gunzipReadsWhatWasCompressedPieceByPiece() async throws {
    let plain = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
    guard let gzip = Gzip() else {
      Issue.record("zlib is not on this machine")
      return
    }
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: plain.count, by: 70_001) {
      let piece = Array(plain[start..<min(start + 70_001, plain.count)])
      bytes += try gzip.compress(piece, isLast: false)
    }
    bytes += try gzip.compress([], isLast: true)
    try uploads.directory.put(bytes, "body.gz")
    try uploads.directory.put(plain, "body")
    let child = try await ChildProcess.run(
      "/bin/sh", ["-c", "gunzip -c body.gz | cmp - body"], in: uploads.directory.path)
    #expect(child.end.exitCode == 0, "\(child.standardError)")
  }
}
