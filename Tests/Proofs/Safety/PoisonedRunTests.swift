import CrashCatalogue
import CrashTestSupport
import Testing

#if arch(x86_64)
  /// No thread that runs a handler calls malloc, locks, stdio, the dynamic loader or the unwinder, for any crash.
  @Suite
  struct PoisonedRunTests {
    /// Ends without a crash, which leave no dump.
    private static let quiet = QuietEnd.all.map(\.kind)

    /// One kind of each family runs on every kind of thread; the handler does the same there for the other kinds.
    private static let everywhere = [
      "null-read", "divide-by-zero", "double-free", "fatal-error", "deep", "pipe", "seccomp",
    ]

    /// In a static build the poison sees fewer calls: none of Swift's runtime.
    @Test(arguments: BuildConfiguration.dynamic)
    func everyKindEndsAsWithoutThePoisonWithOneCompleteDump(_ configuration: BuildConfiguration)
      async throws
    {
      let victim = try await PoisonedVictim(configuration)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for kind in KnownCrash.all.map(\.kind) + Self.quiet {
          group.addTask { try await Self.check(victim, kind) }
        }
        try await group.waitForAll()
      }
    }

    /// Checks all places, or the first place that the victim allows for the kind.
    private static func check(_ victim: PoisonedVictim, _ kind: String) async throws {
      var checked = 0
      for place in ["main", "pthread", "dispatch", "task"] {
        let alone = try await victim.die(kind, on: place, isPoisoned: false)
        if alone.standardError.contains("\(kind) is not possible on \(place)") { continue }
        try await check(victim, kind, place, alone)
        checked += 1
        if !everywhere.contains(kind) { break }
      }
      #expect(checked == (everywhere.contains(kind) ? 4 : 1), "\(kind)")
    }

    private static func check(
      _ victim: PoisonedVictim, _ kind: String, _ place: String, _ alone: PoisonedVictim.Death
    ) async throws {
      let poisoned = try await victim.die(kind, on: place, isPoisoned: true)
      let context: Comment = "\(kind) on \(place): \(poisoned.standardError)"
      #expect(poisoned.end == alone.end, context)
      if quiet.contains(kind) {
        // There may be a report on the end of the run, but none of a crash.
        let ends = [": Ended ", ": Killed "]
        let dumps = (poisoned.dumps + alone.dumps).filter { line in
          !ends.contains { line.contains($0) }
        }
        #expect(dumps.isEmpty, context)
      } else {
        #expect(alone.end.signal != nil, context)
        #expect(poisoned.standardError.contains(PoisonedVictim.watching), context)
        #expect(poisoned.leftOneCompleteDump && alone.leftOneCompleteDump, context)
      }
    }

    /// Code that creates the next locked file, calls the previous handler, or runs after its return belongs to
    /// the handler, too.
    @Test(
      arguments: ["fix", "sent"], BuildConfiguration.dynamic)
    func aCrashThatIsSurvivedCallsNothingPoisoned(
      _ scene: String, _ configuration: BuildConfiguration
    ) async throws {
      let victim = try await PoisonedVictim(configuration)
      let poisoned = try await victim.play(scene, isPoisoned: true)
      #expect(poisoned.end.exitCode == 0, "\(poisoned.standardError)")
      #expect(poisoned.standardError.contains(PoisonedVictim.watching))
      #expect(poisoned.dumps.count == 2)
      #expect(poisoned.dumps.allSatisfy { $0.tellsAWholeDump }, "\(poisoned.dumps)")
    }

    /// A call that the poison must detect, as the handler could make it.
    struct Violation: Sendable, CustomTestStringConvertible {
      let name: String
      let statements: String
      var place = "the crash handler"
      var testDescription: String { "\(name) in \(place)" }
    }

    static let violations = [
      Violation(name: "malloc", statements: "free(malloc(8))"),
      // 27 is SIGPROF, which stops threads.
      Violation(
        name: "malloc", statements: "if (signal == 27) free(malloc(8))", place: "the stop handler"),
      Violation(name: "calloc", statements: "free(calloc(8, 8))"),
      Violation(
        name: "pthread_mutex_lock",
        statements: "extern int pthread_mutex_lock(void *); static long m[8]; pthread_mutex_lock(m)"
      ),
      Violation(
        name: "pthread_rwlock_rdlock",
        statements:
          "extern int pthread_rwlock_rdlock(void *); static long m[8]; pthread_rwlock_rdlock(m)"),
      Violation(
        name: "printf", statements: "extern int printf(const char *, ...); printf(\"%d\", 1)"),
      Violation(name: "puts", statements: "extern int puts(const char *); puts(\"\")"),
      Violation(name: "dlopen", statements: "dlopen(\"libm.so.6\", RTLD_NOW)"),
      Violation(name: "dlsym", statements: "dlsym(RTLD_DEFAULT, \"cos\")"),
      Violation(
        name: "_Unwind_Backtrace",
        statements: "extern int _Unwind_Backtrace(void *, void *); _Unwind_Backtrace(0, 0)"),
    ]

    @Test(arguments: violations)
    func aPlantedViolationEndsTheProcess(_ violation: Violation) async throws {
      let victim = try await PoisonedVictim(.asTested, plant: violation.statements)
      let death = try await victim.die("null-read", on: "main", isPoisoned: true)
      #expect(death.end.exitCode == PoisonedVictim.poisoned, "\(death.standardError)")
      #expect(
        death.standardError.contains("a handling thread calls \(violation.name)\n"),
        "\(death.standardError)")
    }
  }
#endif
