import CrashCatalogue
import CrashTestSupport
import Testing

/// Interleaved requests on two processors, some of which crash.
@Suite struct WorkTests {
  private static let requests = 100_000
  /// The number of crashes of each scene.
  private static let crashes = 20

  @Test(arguments: [BuildConfiguration.asTested, .release])
  func notOneWrongValue(_ configuration: BuildConfiguration) async throws {
    let executable = try await BuiltProducts.shared.executable("crash-lab", configuration)
    var done = 0
    let each = Self.requests / Self.crashes / WorkingVictim.scenes.count
    for scene in WorkingVictim.scenes {
      let victim = try WorkingVictim(executable: executable)
      for number in 0..<Self.crashes {
        let run = try await victim.run(scene, requests: each + 100 + number)
        done += run.done
        #expect(run.failures(scene) == [], "\(scene), crash \(number)")
      }
    }
    #expect(done >= Self.requests)
  }
}
