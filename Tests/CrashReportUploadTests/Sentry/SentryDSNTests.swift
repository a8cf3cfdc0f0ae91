import Testing

@testable import CrashReportUpload

@Suite struct SentryDSNTests {
  @Test func partsAreFound() throws {
    let dsn = try SentryDSN("https://abc:def@sentry.example:9000/a/b/42")
    #expect(dsn.envelopeURL == "https://sentry.example:9000/a/b/api/42/envelope/")
    #expect(dsn.description == "https://abc@sentry.example:9000/a/b/42")
    #expect(
      dsn.authorization == "Sentry sentry_version=7, sentry_client=\(SentryEvent.client), "
        + "sentry_key=abc, sentry_secret=def")
    let plain = try SentryDSN("HTTP://k@h/1")
    #expect(plain.envelopeURL == "http://h/api/1/envelope/" && plain.secretKey == nil)
    #expect(!plain.authorization.contains("secret"))
    #expect(try SentryDSN("http://k@[::1]:8/1").envelopeURL == "http://[::1]:8/api/1/envelope/")
  }

  @Test(arguments: [
    "", "x", "ftp://k@h/1", "https://h/1", "https://@h/1", "https://k@/1", "https://k@h",
    "https://k@h/", "https://k@h/1?a=b", "https://k@h/1#f", "https://k,x@h/1", "https://k@h/a b",
    "https://k:s,t@h/1", "https://k@h/%0a",
  ])
  func badOnesHaveATypeAndNoKeyInTheMessage(_ text: String) {
    let error = #expect(throws: UploadError.self) { try SentryDSN(text) }
    #expect(error?.code == .invalidDSN)
    #expect(error?.description.contains("k@h/1?") == false)
  }

  @Test func theSendersOwnHeadersAreRefused() {
    for name in ["X-Sentry-Auth", "Content-Encoding"] {
      var options = UploadOptions()
      options.headers = [name: "x"]
      #expect(throws: UploadError.self) { try UploadTarget(dsn: "http://k@h/1", options: options) }
    }
  }
}
