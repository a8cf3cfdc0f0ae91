import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashReportUpload

/// The fields of a form that describe the crash.
@Suite(.needs(.python3))
struct FormFieldTests {
  private let uploads: UploadDatabase
  private let server: PythonServer

  init() throws {
    uploads = try UploadDatabase()
    server = try PythonServer(in: uploads.directory)
  }

  /// The form contains the fields by which a server groups crashes and finds a request; an annotation of the same
  /// name has precedence.
  @Test(arguments: [false, true])
  func aFormHasCauseSignatureAndContextAsFieldsAPrivateOneNoContext(isPrivate: Bool) async throws {
    let id = try uploads.addReport(annotations: ["report_signature": "own"]) { snapshot in
      var exception = ExceptionSnapshot(threadID: 7)
      (exception.signal, exception.code, exception.address) = (SIGSEGV, 1, 0)
      var context = X86_64Context()
      context.rip = 0x40_0100
      exception.context = .x86_64(context)
      snapshot.exception = exception
      snapshot.threads = [ThreadSnapshot(id: 7), ThreadSnapshot(id: 8)]
      snapshot.threads[0].context = exception.context
      snapshot.process.executablePath = "/srv/shop"
      snapshot.modules = [ModuleSnapshot(address: 0x40_0000, size: 0x1000, path: "/srv/shop")]
      snapshot.storedSymbols = StoredSymbols(functions: [
        0x40_0100: [.init(linkageName: "pay_order", offset: 4, file: "/src/pay.c", line: 7)]
      ])
      snapshot.client.contexts = [
        .init(threadID: 7, name: "request-id", value: "8C2E"),
        .init(threadID: 8, name: "request-id", value: "other"),
      ]
    }
    var options = UploadOptions()
    if isPrivate { options.privacy = .sanitized }
    let engine = try uploads.engine(to: server.url("ok"), options: options)
    #expect(try await uploads.send(id, by: engine) == .uploaded)
    let form = try #require(try server.forms.first)
    #expect(form.fields["report_cause"] == "null-dereference")
    #expect(form.fields["report_signature"] == (isPrivate ? "SIGSEGV | pay_order" : "own"))
    #expect(form.fields["report_place"] == "pay_order at pay.c:7")
    #expect(form.fields["context.request-id"] == (isPrivate ? nil : "8C2E"))
  }
}
