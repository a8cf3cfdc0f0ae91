import CrashTestSupport
import Foundation
import Testing

/// The report of a crash has everything that Swift's own backtracer prints of the same crash.
///
/// Both read the same process: the handler writes its dump and then lets the backtracer run.
@Suite(.serialized)
struct SwiftBacktraceTests {
  /// The parts of the backtracer's JSON that are compared.
  struct Theirs: Decodable {
    struct Thread: Decodable {
      let crashed: Bool?
      let registers: [String: String]?
      let frames: [Frame]
    }
    struct Frame: Decodable {
      struct Place: Decodable {
        let file: String
        let line: Int
        let column: Int
      }
      let kind: String
      let address: String?
      let symbol: String?
      let inlined: Bool?
      let sourceLocation: Place?
    }
    struct Image: Decodable {
      let buildId: String?
      let path: String?
      let baseAddress: String
    }
    let threads: [Thread]
    let capturedMemory: [String: String]?
    let images: [Image]?
  }

  /// The same parts of the report's JSON.
  struct Ours: Decodable {
    struct Thread: Decodable {
      let crashed: Bool
      let registers: [String: String]
      let frames: [Frame]
    }
    struct Frame: Decodable {
      let address: String
      let symbol: String?
      let file: String?
      let line: Int?
      let column: Int?
    }
    struct Module: Decodable {
      let base: String
      let buildID: String?
      let path: String
    }
    struct Excerpt: Decodable {
      let address: String
      let bytes: String
    }
    struct Mapping: Decodable {
      let end: String
      let path: String?
    }
    let threads: [Thread]
    let modules: [Module]
    let memory: [Excerpt]
    let mappings: [Mapping]
  }

  @Test(arguments: ["null-read", "null-call", "unwrap-nil", "abort"])
  func framesRegistersImagesAndMemory(_ kind: String) async throws {
    let (theirs, ours) = try await crash(kind)
    let theirThread = try #require(theirs.threads.first { $0.crashed == true })
    let ourThread = try #require(ours.threads.first { $0.crashed })

    // The backtracer writes "null" for a call to address 0.
    let frames = theirThread.frames.filter { Self.number($0.address) != nil }
    #expect(!frames.isEmpty)
    for frame in frames {
      let same = ourThread.frames.filter { Self.number($0.address) == Self.number(frame.address) }
      #expect(!same.isEmpty, "\(frame) is not in the report")
      if let symbol = frame.symbol, frame.inlined != true {
        #expect(same.contains { $0.symbol == symbol }, "\(frame): \(same)")
      }
      if let line = frame.sourceLocation, line.line > 0 {
        #expect(
          same.contains { ours in
            ours.line == line.line && ours.column == line.column
              && ours.file.map { URL(fileURLWithPath: $0).lastPathComponent }
                == URL(fileURLWithPath: line.file).lastPathComponent
          }, "\(frame): \(same)")
      }
    }

    var registers = (theirThread.registers ?? [:]).mapValues { Self.number($0) }
    #expect(registers.count > 16)
    #if arch(x86_64)
      // Swift 6.3 reads these registers by their DWARF numbers and confuses their names: its rdx has the value of
      // rbx. gdb, on the core file of the same crash, agrees with the report.
      for (one, other) in [("rdx", "rbx"), ("rsi", "rdi")]
      where registers[one] != ourThread.registers[one].map(Self.number) {
        (registers[one], registers[other]) = (registers[other], registers[one])
      }
    #endif
    for (name, value) in registers {
      #expect(ourThread.registers[name].map(Self.number) == value, "\(name)")
    }

    for image in theirs.images ?? [] {
      guard let path = image.path, let buildID = image.buildId else { continue }
      #expect(
        ours.modules.contains {
          $0.path == path && $0.buildID == buildID
            && Self.number($0.base) == Self.number(image.baseAddress)
        }, "\(image)")
    }
    #expect(theirs.images?.isEmpty == false)

    let stack = try #require(ours.mappings.first { $0.path == "[stack]" })
    for (place, bytes) in theirs.capturedMemory ?? [:] {
      let address = try #require(Self.number(place))
      let end = try #require(Self.number(stack.end))
      // The end of the stack contains the arguments and the environment; no report contains the environment.
      if address < end, end - address < 0x4000 { continue }
      #expect(
        ours.memory.contains { excerpt in
          guard let start = Self.number(excerpt.address), start <= address,
            let offset = Int(exactly: address - start)
          else { return false }
          // The excerpt has two digits for each byte.
          return excerpt.bytes.dropFirst(offset * 2).hasPrefix(bytes)
        }, "\(place): \(bytes)")
    }
  }

  private static func number(_ text: String?) -> UInt64? {
    text.flatMap { UInt64($0.dropFirst(2), radix: 16) }
  }

  /// Both outputs for one crash.
  private func crash(_ kind: String) async throws -> (Theirs, Ours) {
    let directory = try SharedDirectory()
    let database = directory.path + "/db"
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"),
      [kind, "--database", database], in: directory.path,
      environment: [
        "SWIFT_BACKTRACE":
          "enable=yes,color=no,interactive=no,registers=all,images=all,format=json,"
          + "output-to=\(directory.path)/theirs.json"
      ])
    try #require(child.end.signal != nil, "\(child.standardError)")
    let tool = try await BuiltProducts.shared.executable("postmortem", .release)
    _ = try await ChildProcess.run(tool, ["process", database], in: directory.path)
    let shown = try await ChildProcess.run(
      tool, ["show", database, "--json"], in: directory.path,
      environment: ["POSTMORTEM_NO_SYMBOL_CACHE": "1"])
    let theirs = try #require(directory.bytes("theirs.json"), "\(child.standardError)")
    return (
      try JSONDecoder().decode(Theirs.self, from: Data(theirs)),
      try JSONDecoder().decode(Ours.self, from: Data(shown.standardOutput.utf8))
    )
  }
}
