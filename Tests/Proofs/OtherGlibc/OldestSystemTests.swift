#if arch(x86_64)
  import CrashAnalysis
  import CrashReport
  import CrashTestSupport
  import Foundation
  import Testing

  /// The linked program and the sources need no newer glibc and kernel than the documents say.
  @Suite
  struct OldestSystemTests {
    /// The glibc version in Docs/Internals/SystemCalls.md, "Older systems".
    private static let glibc = [2, 34]
    /// The last system call of Linux 4.18, rseq.
    private static let lastCall = 334

    @Test(arguments: ["crash-lab", "HandlerOnly"])
    func noSymbolOfTheLinkedProgramIsOfALaterGlibc(_ product: String) async throws {
      let child = try await ChildProcess.run(
        try Toolchain.path(of: "llvm-objdump"),
        ["-T", try BuiltProducts.besideTests(product)], in: NSTemporaryDirectory())
      #expect(child.end.exitCode == 0)
      var count = 0
      for line in child.standardOutput.split(separator: "\n") {
        guard let found = line.firstMatch(of: /\*UND\*.*\(?GLIBC_([0-9.]+)\)?\s+(\S+)$/) else {
          continue
        }
        count += 1
        let version = found.1.split(separator: ".").compactMap { Int($0) }
        #expect(!Self.glibc.lexicographicallyPrecedes(version), "\(found.2) is of glibc \(found.1)")
      }
      #expect(count > 50, "\(child.standardOutput.prefix(2000))")
    }

    /// The crash itself makes no other newer calls: `SystemCallFailureTests` makes each call fail, including with
    /// ENOSYS.
    @Test func eachSystemCallThatAKernelOf2018DoesNotHaveIsInTheTableOfWhatIsThenLacking() throws {
      let root = BuiltProducts.packageRoot
      let numbers = Dictionary(
        (0..<600).compactMap { number in SystemCallNames.name(number).map { ($0, number) } },
        uniquingKeysWith: { first, _ in first })
      var later: Set<String> = []
      var count = 0
      for folder in ["CSignalSafe", "CSignalMasks", "CThreadStacks", "CProcessEnds"] {
        let directory = root + "/Sources/" + folder
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory)
        where name.hasSuffix(".c") || name.hasSuffix(".h") {
          let text = try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
          for found in text.matches(of: /SYS_([a-z0-9_]+)/) {
            let number = try #require(numbers[String(found.1)], "\(found.1)")
            count += 1
            if number > Self.lastCall { later.insert(String(found.1)) }
          }
        }
      }
      #expect(count > 50)
      let document = try String(
        contentsOfFile: root + "/Docs/Internals/SystemCalls.md", encoding: .utf8)
      let table = try #require(document.split(separator: "## Older systems").last)
      #expect(!later.isEmpty)
      for name in later { #expect(table.contains("`\(name)`"), "\(name)") }
    }
  }
#endif
