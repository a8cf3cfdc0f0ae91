import CrashTestSupport
import Testing

/// A sample of the proof `exits`, for `swift test`.
@Suite(.needs(.python3), .needs(.openssl))
struct ExitTests {
  @Test(arguments: UploadExits.Way.allCases)
  func theEndIsTheProgramsOwn(_ way: UploadExits.Way) async throws {
    let exits = try await UploadExits()
    #expect(try await UploadExits.fault(way, url: exits.url, microseconds: 30_000) == nil)
  }
}
