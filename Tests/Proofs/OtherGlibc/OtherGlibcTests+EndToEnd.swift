#if arch(x86_64)
  import CrashCatalogue
  import CrashTestSupport
  import Foundation
  import Testing

  extension OtherGlibcTests {
    /// Runs the end-to-end tests of `swift test` with the newest C library.
    ///
    /// All other files are this machine's, because the tests start compilers and shells.
    @Test func theEndToEndTestsPassWithTheNewestToo() async throws {
      guard let root = try await root("sid") else { return }
      let tests = try BuiltProducts.besideTests("swift-postmortemPackageTests.xctest")
      func run(_ command: [String], patience: Int) async throws -> ChildProcess {
        let command = root.underThisMachine + command
        return try await ChildProcess.run(
          command[0], Array(command.dropFirst()), in: BuiltProducts.packageRoot,
          patience: patience)
      }
      let version = try await run(["/usr/bin/getconf", "GNU_LIBC_VERSION"], patience: 60)
      #expect(version.end.exitCode == 0 && version.standardOutput.hasPrefix("glibc "))
      #expect(version.standardOutput != CatalogueRoot.ownLibrary + "\n")
      let child = try await run(
        [tests, "--testing-library", "swift-testing", "--filter", #"^EndToEndTests\."#],
        patience: 500)
      let text = child.standardOutput + child.standardError
      let failures = text.split(separator: "\n").filter { $0.contains("recorded an issue") }
      #expect(child.end.exitCode == 0, "\(failures.joined(separator: "\n"))")
      let count = text.firstMatch(of: /Test run with (\d+) tests/).flatMap { Int($0.1) }
      #expect(count ?? 0 > 20, "\(text.suffix(2000))")
    }
  }
#endif
