import CrashReportDatabase
import CrashTestSupport
import Testing

/// What the program's environment says of proxies holds.
@Suite(.needs(.python3))
struct ProxyTests {
  @Test func httpProxyIsAskedForTheWholeURLUnlessNoProxyNamesTheHost() async throws {
    let uploads = try UploadDatabase()
    let server = try PythonServer(in: uploads.directory)
    // The host exists nowhere: only a proxy can answer for it.
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
