internal import CrashReportDatabase
internal import Foundation
package import IntermediateDump
internal import Testing

/// A program that uploads a report, under conditions that can disturb its uploader.
package struct UploadHost {
  package let uploads: UploadDatabase
  package let server: PythonServer
  /// The report that waits to be uploaded.
  package let report: ReportID

  package init() throws {
    uploads = try UploadDatabase()
    server = try PythonServer(in: uploads.directory)
    report = try uploads.addReport()
  }

  package var directory: String { uploads.directory.path }

  /// Runs the program until its uploader has sent the report, or has found out that it cannot.
  ///
  /// - Parameter program: the path of the program; nil for `UploadingVictim`.
  package func run(
    _ program: String? = nil, environment: [String: String] = [:]
  ) async throws -> ChildProcess {
    try await ChildProcess.run(
      try program ?? BuiltProducts.besideTests("UploadingVictim"),
      [uploads.database.path, server.url("ok"), "first-result", "0"], in: directory,
      environment: environment, patience: 120)
  }

  /// C source that defines names that a library of libcurl's defines too, and ends the process if one is called.
  package static func source(defining names: [String]) -> String {
    "#include <stdlib.h>\n" + names.map { "void *\($0)(void) { abort(); }\n" }.joined()
  }

  /// Names of OpenSSL that BoringSSL defines too.
  package static let openSSL = [
    "OPENSSL_init_crypto", "OPENSSL_init_ssl", "CRYPTO_malloc", "CRYPTO_free", "EVP_DigestInit_ex",
    "RAND_bytes", "SSL_CTX_new", "SSL_new", "SSL_connect", "X509_STORE_new",
  ]
}
