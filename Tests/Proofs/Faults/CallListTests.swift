import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import Testing

#if arch(x86_64)
  /// `Docs/Internals/SystemCalls.md` lists exactly the system calls that a crash makes.
  @Suite
  struct CallListTests {
    /// Cases that cause the calls that an undisturbed crash does not make.
    private static let rareCases: [(Scene, Disturbance)] = [
      // fstat fails with EBADF, as if the descriptors were no longer ours: the handler opens the directories and
      // the file again.
      (Scene(kind: "null-read"), .failures(.crashing, from: 1, numbers: [5], errno: 9)),
      // fstat fails with EPERM, as under a filter.
      (Scene(kind: "null-read"), .failures(.crashing, from: 1, numbers: [5], errno: 1)),
      // No file of /proc can be opened.
      (Scene(kind: "null-read"), .failures(.crashing, from: 1, numbers: [257], errno: 13)),
      // A fault interrupts a write.
      (Scene(kind: "null-read"), .faults([("IntermediateDump0aB6WriterV5flush", 110)])),
      // Writing to standard error fails, too.
      (Scene(kind: "abort"), .failures(.crashing, from: 1, numbers: [1], errno: 32)),
      // No signal can be re-raised.
      (Scene(kind: "abort"), .failures(.crashing, from: 1, numbers: [297, 234, 62], errno: 38)),
    ]

    @Test func everyCallIsListedAndEveryListedOneIsMade() async throws {
      var made: Set<Int> = []
      for scene in Scene.all + [Scene(kind: "double-free"), Scene(kind: "stack-overflow")] {
        let run = try await InjectedRun(scene, .none)
        made.formUnion(run.report.calls.map(\.number))
      }
      for (scene, disturbance) in Self.rareCases {
        let run = try await InjectedRun(scene, disturbance)
        #expect(run.report.failures + run.report.hits.count > 0)
        made.formUnion(run.report.calls.map(\.number))
      }
      // A crash that the process survives, and the next crash.
      let survived = try await InjectedRun(["chain", "longjmp"], .none)
      made.formUnion(survived.report.calls.map(\.number))
      let blocked = try await InjectedRun(["use", "dumps-limit-pending-repaired"], .none)
      // The program itself makes calls after its repair, so only this one counts.
      made.formUnion(
        blocked.report.calls.map(\.number).filter { SystemCallNames.name($0) == "rt_sigpending" })
      // The kernel makes this call to continue a wait that a stop by the injector interrupted; it occurs in some
      // runs only. The document mentions it outside its table.
      let names = Set(made.map { SystemCallNames.name($0) ?? "\($0)" }).subtracting([
        "restart_syscall"
      ])
      let listed = try Self.listed()
      #expect(names.subtracting(listed) == [], "made but not listed")
      // These map a run record. On overlayfs the handler does not map it, because the mapping cannot prove there
      // that a process lives.
      let unmade: Set = try await Self.isOnOverlay ? ["mmap", "madvise", "munmap"] : []
      #expect(listed.subtracting(names) == unmade, "listed but never made")
    }

    private static var isOnOverlay: Bool {
      get async throws {
        let directory = try TemporaryDirectory()
        let stat = try await ChildProcess.run(
          "/usr/bin/stat", ["-f", "-c", "%T", directory.path], in: directory.path)
        #expect(stat.end.exitCode == 0)
        return stat.standardOutput == "overlayfs\n"
      }
    }

    /// The names in the first column of the table.
    private static func listed() throws -> Set<String> {
      let text = try String(
        contentsOfFile: BuiltProducts.packageRoot + "/Docs/Internals/SystemCalls.md",
        encoding: .utf8)
      let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }
      #expect(rows.count > 20)
      return Set(
        rows.flatMap { row in
          let column = row.split(separator: "|")[0]
          return column.matches(of: /`([a-z0-9_]+)`/).map { String($0.1) }
        })
    }
  }
#endif
