#if arch(x86_64)
  import CrashCatalogue
  import CrashConverter
  import CrashAnalysis
  import CrashReport
  import CrashReportDatabase
  import CrashTestSupport
  import Foundation
  import IntermediateDump
  import ProcessSnapshot
  import Stackwalk
  import Testing

  /// Scenes that the catalogue lacks: thrown errors, contexts, requested dumps, and storms of signals.
  extension ARM64MachineTests {
    private static let throwing = [
      "uncaught-error": ["uncaught-error"],
      "try-bang": ["try-bang"],
      "try-bang-pthread": ["try-bang", "--on", "pthread"],
      "try-bang-dispatch": ["try-bang", "--on", "dispatch"],
      "try-bang-task": ["try-bang", "--on", "task"],
    ]

    /// The kinds whose dumps the emulated machine also converts.
    private static let converted = ["null-read", "fatal-error", "stack-overflow"]

    private static let storms = 16

    @Test(.enabled(if: Part.scenes.isChosen, "only with --full"))
    func throwsAndContextsAreToldAndStormsLeaveOneReport() async throws {
      let (programs, kernel) = try await system(Machine.everyday[0])
      var scenes = Self.throwing.mapValues { $0 + ["--throws", "--milliseconds", "15000"] }
      for kind in Self.converted {
        scenes["converted-\(kind)"] = [kind, "--threads", "3", "--milliseconds", "15000"]
      }
      for scene in WorkingVictim.scenes {
        scenes["work-\(scene)"] = ["work", scene, "500", "ledger"]
      }
      let seeds = (0..<Self.storms).map { _ in UInt64.random(in: .min ... .max) }
      for seed in seeds { scenes["storm-\(seed)"] = ["storm", "\(seed)"] }
      let directory = try TemporaryDirectory()
      _ = try await ARM64Machine(programs: programs, kernel: kernel, scenes: scenes)
        .run([], in: directory.path)
      func place(_ name: String) -> String { "\(directory.path)/results/scenes/\(name)" }
      for name in Self.throwing.keys {
        let reports = try ReportDirectory(place(name) + "/database")
        #expect(reports.hasOneCompleteReport, "\(name) \(reports.processed)")
        guard let snapshot = reports.snapshots.first else { continue }
        let report = CrashReport(
          snapshot: snapshot, symbolicating: true, symbolDirectories: [programs.tree])
        let thrower = report.thrown?.frames.first?.symbol?.name ?? "nothing"
        // The function that calls try! is found, too.
        #expect(thrower.contains("crash_uncaught_error"), "\(name): thrown by \(thrower)")
        #expect(report.thrown?.record.threadID == snapshot.exception?.threadID, "\(name)")
      }
      for scene in WorkingVictim.scenes {
        let run = try WorkingVictim.Run(
          database: place("work-\(scene)") + "/database", ledger: place("work-\(scene)") + "/ledger"
        )
        #expect(run.failures(scene) == [], "\(scene)")
      }
      for kind in Self.converted { try converted(place("converted-\(kind)"), "\(kind)") }
      for seed in seeds { try storm(place("storm-\(seed)"), "seed \(seed)") }
    }

    /// Compares the report that the emulated machine made of a dump with the host's report of the same dump, byte for
    /// byte.
    private func converted(_ place: String, _ kind: Comment) throws {
      // Each report contains the database's random identifier, so both databases need the same one.
      try FileManager.default.copyItem(
        atPath: place + "/converted/settings.dat", toPath: place + "/database/settings.dat")
      let processed = try processIntermediateDumps(
        database: place + "/database", storingSymbols: false)
      #expect(processed.count == 1, kind)
      func report(_ name: String) throws -> [Data] {
        try CrashReportDatabase(path: place + "/" + name).reports().map {
          try Data(contentsOf: URL(fileURLWithPath: $0.path))
        }
      }
      let there = try report("converted")
      #expect(there.count == 1, "\(ARM64Machine.Result.text(place + "/processed"))")
      #expect(try report("database") == there, kind)
    }

    /// One of the storm's signals ends the process and leaves one report; dumps that were requested before are
    /// reports too.
    private func storm(_ place: String, _ seed: Comment) throws {
      let lines = ARM64Machine.Result.text(place + "/out").split(separator: "\n")
      let errors = ARM64Machine.Result.text(place + "/err").suffix(500)
      #expect(ARM64Machine.Result.text(place + "/end") == "0\n", "\(seed) \(lines) \(errors)")
      guard lines.count == 2, let end = lines[1].split(separator: " ").last.flatMap({ Int32($0) })
      else { return }
      let reports = try ReportDirectory(place + "/database").snapshots
      let crashes = reports.filter { $0.request == nil }
      #expect(crashes.map { $0.exception?.signal } == [end], seed)
      #expect(reports.contains { $0.request?.kind == .tool }, seed)
      // A thread that crashes while it takes a dump of its own process abandons that dump.
      let torn = reports.filter { !$0.capture.isComplete }
      #expect(torn.count <= 1 && torn.allSatisfy { $0.request?.kind == .program }, seed)
    }
  }
#endif
