import CrashTestSupport
import Testing

/// A sample of the proof `exits`.
@Suite("Programs that end while they upload", .needs(.python3), .needs(.openssl))
struct ExitTests {
  @Test("The end is the program's own", arguments: UploadExits.Way.allCases)
  func sample(_ way: UploadExits.Way) async throws {
    let exits = try await UploadExits()
    #expect(try await UploadExits.fault(way, url: exits.url, microseconds: 30_000) == nil)
  }
}
