import CrashReportDatabase
import CrashTestSupport
import Testing

/// The proxy settings in the program's environment apply.
@Suite(.needs(.python3))
struct ProxyTests {
  @Test func httpProxyIsAskedForTheWholeURLUnlessNoProxyNamesTheHost() async throws {
    let uploads = try UploadDatabase()
    let server = try PythonServer(in: uploads.directory)
    // The host does not exist, so only a proxy can answer.
    let url = "http://collector.invalid/ok"
    func send(_ noProxy: String) async throws -> Int32? {
      let id = try uploads.addReport()
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("postmortem"),
        ["upload", uploads.database.path, "\(id)", "--url", url], in: uploads.directory.path,
        environment: ["http_proxy": server.url(""), "no_proxy": noProxy])
      return child.end.exitCode
    }
    #expect(try await send("") == 0)
    #expect(try server.forms.map(\.path) == [url])
    #expect(try await send("collector.invalid") == 1)
    #expect(try server.forms.count == 1)
  }
}
