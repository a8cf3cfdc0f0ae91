import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// The programs of the truth table that crash: the report's values are compared with the truth about each program.
extension TruthTests {
  /// What is true about a crash; the scene's word is its number in the table, with a variant after a hyphen.
  struct Crash: Sendable, CustomStringConvertible {
    let scene: String
    let kind: String
    /// The certainty that the report must have; nil for any.
    var certainty: String?
    /// The function in which the crash is.
    let place: String
    /// Words of which each must be in the explanation or the message, and words that must not be there.
    var says: [String] = []
    var saysNot: [String] = []
    /// The type of an object to which a register or the stack must point.
    var object: String?
    /// The innermost functions of the program itself, which the signature must name.
    var signature: [String] = []

    var description: String { scene }
  }

  private static let crashes =
    [
      Crash(
        scene: "39", kind: "swift-unwrapped-nil", certainty: "certain",
        place: "PriceRenderer.render", says: ["Unexpectedly found nil"], object: "PriceRenderer",
        signature: ["PriceRenderer.render"]),
      Crash(
        scene: "40", kind: "swift-index-out-of-range", certainty: "certain",
        place: "RingBuffer.newest", says: ["Index out of range"],
        object: "RingBuffer<CrashLab.Money>", signature: ["RingBuffer.newest"]),
      Crash(
        scene: "43", kind: "unmapped-memory", place: "Session.renew", says: ["0x123456789ab"],
        saysNot: ["null"], object: "Invoice", signature: ["Session.renew"]),
      Crash(
        scene: "44", kind: "null-dereference", certainty: "likely", place: "crash_cache_entry",
        saysNot: ["freed", "deinit"]),
      Crash(
        scene: "45", kind: "null-dereference", certainty: "likely", place: "crash_between",
        saysNot: ["unowned"]),
      Crash(
        scene: "46", kind: "unmapped-memory", place: "Ledger.add",
        says: ["a Tag", "of another class"], object: "Tag", signature: ["Ledger.add"]),
      Crash(
        scene: "46-virtual", kind: "null-call", certainty: "likely",
        place: "callVirtualMethodOfOtherClass", says: ["a Tag", "of another class"], object: "Tag"),
      Crash(
        scene: "47", kind: "overwritten-return-address", certainty: "certain",
        place: "crash_copy_name", says: ["0x4545454545454545"], saysNot: ["freed"],
        signature: ["crash_copy_name"]),
      Crash(
        scene: "47-short", kind: "overwritten-return-address", certainty: "likely",
        place: "TruthScene.run", says: ["45454545"], saysNot: ["freed"]),
      Crash(
        scene: "48", kind: "null-dereference", place: "crash_at_leaf",
        signature: ["crash_at_leaf", "descend"]),
      Crash(
        scene: "49", kind: "unmapped-memory", certainty: "certain", place: "crash_write_register",
        says: ["A write to 0xfde8"], saysNot: ["null"], signature: ["crash_write_register"]),
      Crash(
        scene: "49-heap", kind: "unmapped-memory", certainty: "certain", place: "crash_read_table",
        saysNot: ["null", "freed"], signature: ["crash_read_table"]),
      Crash(
        scene: "49-low", kind: "unmapped-memory", place: "crash_read_table_at",
        says: ["0x28"], saysNot: ["null"], signature: ["crash_read_table_at"]),
      Crash(
        scene: "50", kind: "cxx-terminate", certainty: "certain", place: "Worker::~Worker",
        says: ["std::terminate()", "while it handled", "BadLine", "had been caught"],
        saysNot: ["uncaught", "Uncaught"], signature: ["import_in_background"]),
      Crash(
        scene: "52", kind: "null-dereference", certainty: "certain", place: "reload_settings",
        says: ["A write to 0x28"], saysNot: ["raised the signal again"],
        signature: ["reload_settings"]),
    ] + reraised

  private static let builds: [BuildConfiguration] = [.asTested]

  /// 51: the fault's own cause, address and place, although a handler of the program got it first.
  private static let reraised = ["raise", "pending", "kill", "queue", "call"].flatMap { way in
    ["own", "alternate"].map { stack in
      Crash(
        scene: "51-\(way)-\(stack)", kind: "null-dereference", place: "parse_request",
        says: ["to 0x18", "of 0x18"], signature: ["parse_request"])
    }
  }

  /// The fields of `postmortem show --json` that these tests read.
  private struct ShownCrash: Decodable {
    struct Word: Decodable {
      struct Object: Decodable {
        let type: String?
        let certainty: String
        let unowned: Int?
      }
      let place: String
      let object: Object?
    }
    struct Thread: Decodable {
      struct Frame: Decodable {
        let function: String?
      }
      struct Recursion: Decodable {
        let count: Int
        let estimatedInGap: Int?
      }
      let crashed: Bool
      let frames: [Frame]
      let recursion: Recursion?
    }
    let cause: WaitingTests.Shown.Cause?
    let message: String?
    let explanation: String?
    let signature: String?
    let place: String?
    let words: [Word]
    let threads: [Thread]

    var crashed: Thread? { threads.first(where: \.crashed) }
  }

  @Test(arguments: crashes, builds)
  func theCrashIsTheTruth(_ crash: Crash, _ build: BuildConfiguration) async throws {
    let (shown, text) = try await Self.crash(crash.scene, build)
    #expect(shown.cause?.kind == crash.kind, "\(text)")
    if let certainty = crash.certainty { #expect(shown.cause?.certainty == certainty, "\(text)") }
    #expect(shown.place?.contains(crash.place) == true, "\(shown.place ?? "") \(text)")
    let said = "\(shown.message ?? "") \(shown.explanation ?? "")"
    if crash.scene.hasPrefix("51") {
      // The kind of access is not known if the dump lacks the fault itself.
      #expect(crash.says.contains(where: said.contains), "\(said)")
    } else {
      for words in crash.says { #expect(said.contains(words), "\(said)") }
    }
    for words in crash.saysNot { #expect(!said.contains(words), "\(said)") }
    for name in crash.signature {
      #expect(shown.signature?.contains(name) == true, "\(shown.signature ?? "")")
    }
    let objects = shown.words.compactMap(\.object)
    if let type = crash.object {
      #expect(objects.contains { $0.type?.hasSuffix("CrashLab.\(type)") == true }, "\(text)")
    }
    let functions = shown.crashed?.frames.compactMap(\.function) ?? []
    switch crash.scene {
    case "44":
      #expect(
        objects.allSatisfy { $0.type != "CrashLab.Invoice" || $0.certainty != "certain" }, "\(text)"
      )
    case "45":
      #expect(!text.contains("unowned") && objects.allSatisfy { $0.unowned ?? 0 == 0 }, "\(text)")
    case "48":
      let recursion = try #require(shown.crashed?.recursion, "\(text)")
      #expect(abs(recursion.count + (recursion.estimatedInGap ?? 0) - 29_100) <= 1, "\(recursion)")
    case "52":
      #expect(functions.contains("serve_until_reload"), "\(functions)")
    case let scene where scene.hasPrefix("51"):
      #expect(functions.contains("crash_serve_request"), "\(functions)")
    default: break
    }
  }

  /// 43: no text says for sure that the new object is what the method expects.
  @Test func aNewObjectInFreedMemoryIsNotCalledSelf() async throws {
    let (shown, text) = try await Self.crash("43", .asTested)
    #expect(!text.contains("self is") && !text.contains("a Session whose"), "\(text)")
    #expect(shown.words.allSatisfy { $0.object?.type != "CrashLab.Session" }, "\(text)")
  }

  /// 52: a core file has the whole memory, so the interrupted stack is there too.
  @Test func bothStacksAreInACoreFile() async throws {
    let victim = try await LiveVictim()
    let core = victim.directory.path + "/core"
    let run = try await ChildProcess.run(
      "/usr/bin/gdb",
      [
        "-batch", "-nx", "-ex", "set startup-with-shell off", "-ex",
        "handle SIGUSR1 nostop noprint",
        "-ex", "run", "-ex", "generate-core-file \(core)", "--args", victim.executable, "truth",
        "52", "waits", "--database", victim.database,
      ], in: victim.directory.path)
    try #require(FileManager.default.fileExists(atPath: core), "\(run)")
    let (shown, text) = try await LiveVictim.shown(core, as: ShownCrash.self)
    #expect(shown.place?.contains("reload_settings") == true, "\(text)")
    let functions = shown.crashed?.frames.compactMap(\.function) ?? []
    #expect(functions.contains("serve_until_reload"), "\(functions)")
  }

  /// 54: without names, two traps of one program are still two groups.
  @Test(.needs(.objcopy)) func twoTrapsOfAStrippedProgramHaveTwoSignatures() async throws {
    var signatures: Set<String> = []
    for scene in ["54-orders", "54-stock", "54-orders"] {
      let (shown, text) = try await Self.crash(scene, .asTested, isStripped: true)
      #expect(!text.contains("Orders.ship") && !text.contains("Stock.reserve"), "\(text)")
      signatures.insert(try #require(shown.signature, "\(text)"))
    }
    #expect(signatures.count == 2, "\(signatures)")
  }

  /// 55: the promises end in the same function, and the message contains where each was made.
  @Test(arguments: builds)
  func leakedPromisesOfTwoOriginsAreTwoGroups(_ build: BuildConfiguration) async throws {
    var signatures: Set<String> = []
    for scene in ["55-fetch", "55-store", "55-fetch"] {
      let (shown, text) = try await Self.crash(scene, build)
      #expect(shown.cause?.kind == "swift-fatal-error", "\(text)")
      #expect(shown.message?.contains("leaking promise") == true, "\(text)")
      for function in ["Gateway.fetch", "Gateway.store"] {
        #expect(shown.signature?.contains(function) == false, "\(text)")
      }
      signatures.insert(try #require(shown.signature, "\(text)"))
    }
    #expect(signatures.count == 2, "\(signatures)")
  }

  private static func crash(
    _ scene: String, _ build: BuildConfiguration, isStripped: Bool = false
  ) async throws -> (ShownCrash, text: String) {
    let victim = try await LiveVictim(build)
    var program = victim.executable
    if isStripped {
      program = victim.directory.path + "/server"
      let child = try await ChildProcess.run(
        try #require(OutsideTool.objcopy.path), ["--strip-all", victim.executable, program],
        in: victim.directory.path)
      try #require(child.end.exitCode == 0, "\(child.standardError)")
    }
    let child = try await ChildProcess.run(
      program, ["truth", scene, "waits", "--database", victim.database],
      in: victim.directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.signal != nil, "\(child)")
    // The program is in the directory, so its names are those of the reader.
    _ = try await victim.process()
    return try await LiveVictim.shown(try #require(try victim.reports().first).path)
  }
}
