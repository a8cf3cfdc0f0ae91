internal import CCrashLab
internal import Glibc
internal import Postmortem
internal import Synchronization

/// A program that takes dumps and lives on, or crashes meanwhile.
struct LiveDump: Subcommand {
  private enum Scene: String, CaseIterable {
    /// One dump, which is a report at once.
    case now
    /// One dump for the next start.
    case deferred
    /// The same, of a process whose module list faults.
    case faulting
    /// One dump, to PATH.
    case toPath = "to-path"
    /// Converts the dump at PATH.
    case processPath = "process-path"
    /// Three dumps of a program whose threads wait in system calls.
    case server
    /// The same, and each stops the threads.
    case serverStopped = "server-stopped"
    /// 32 threads with one dump each, all at once.
    case manyThreads = "many-threads"
    /// Eight threads that dump without end, and a crash.
    case crash
    /// The same, and each dump stops the threads.
    case crashStopped = "crash-stopped"
  }

  private let scene: Scene
  private let path: String
  private let database: String

  init(_ arguments: Arguments) throws(UsageError) {
    scene = try Arguments.choice(arguments.words.first ?? "")
    switch scene {
    case .toPath, .processPath: path = try arguments.words("SCENE", "PATH")[1]
    default:
      _ = try arguments.words("SCENE")
      path = ""
    }
    database = try arguments.database
  }

  func run() throws {
    if scene == .faulting { prepareFaults() }
    let handler = CrashLab.start(database)
    switch scene {
    case .now: say(try dumpFromHere(handler, andProcess: true))
    case .deferred, .faulting: say(try dumpFromHere(handler))
    case .toPath: say(try handler.dumpWithoutCrash(to: path))
    case .processPath: say(try handler.processIntermediateDump(at: path).map { "\($0)" } ?? "none")
    case .server: try Server().dump(handler, stopsThreads: false)
    case .serverStopped: try Server().dump(handler, stopsThreads: true)
    case .manyThreads: dumpFromManyThreads(handler, 32)
    case .crash: crashWhileDumping(handler, stopsThreads: false)
    case .crashStopped: crashWhileDumping(handler, stopsThreads: true)
    }
  }
}

/// The frame that a report of such a dump must name.
@inline(never)
func dumpFromHere(_ handler: Handler, andProcess: Bool = false) throws -> ReportID {
  let reportID = try handler.dumpWithoutCrash()
  if andProcess { try handler.processIntermediateDump(reportID) }
  // Keeps this frame on the stack: the call is not the last thing that is done.
  say("dumped")
  return reportID
}

private func dumpFromManyThreads(_ handler: Handler, _ count: Int) {
  let ready = Atomic<Int>(0)
  let threads = (0..<count).map { _ in
    Thread.start {
      ready.add(1, ordering: .relaxed)
      while ready.load(ordering: .relaxed) < count { sched_yield() }
      do {
        say(try handler.dumpWithoutCrash())
      } catch {
        say("failed: \(error)")
      }
    }
  }
  for thread in threads { thread.join() }
}

/// Crashes once each thread has dumped.
func crashWhileDumping(_ handler: Handler, stopsThreads: Bool) -> Never {
  let counts = (0..<8).map { _ in Counter() }
  for counter in counts {
    Thread.start {
      while true {
        do {
          try handler.dumpWithoutCrash(stopsThreads: stopsThreads)
          counter.value.add(1, ordering: .relaxed)
        } catch {
          standardError("crash-lab: \(error)\n")
          exit(EX_SOFTWARE)
        }
      }
    }
  }
  while counts.contains(where: { $0.value.load(ordering: .relaxed) < 1 }) { usleep(1000) }
  say("crashing")
  unsafe UnsafeMutablePointer<Int>(bitPattern: 0x10)?.pointee = 1
  exit(Command.survived)
}

private final class Counter: Sendable {
  let value = Atomic<Int>(0)
}

/// A mapped file that was cut, and a kernel without process_vm_readv: reading the module list faults then.
private func prepareFaults() {
  let path = "/tmp/crash-lab-\(getpid())"
  let file = unsafe open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
  guard file >= 0 else { exit(EX_CANTCREAT) }
  ftruncate(file, 8192)
  let mapping = unsafe mmap(nil, 8192, PROT_READ, MAP_SHARED, file, 0)
  guard unsafe mapping != MAP_FAILED else { exit(EX_OSERR) }
  ftruncate(file, 0)
  unsafe unlink(path)
  guard crashlab_deny_memory_copies() == 0 else { exit(EX_OSERR) }
}
