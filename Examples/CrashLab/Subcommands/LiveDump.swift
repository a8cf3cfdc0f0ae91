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
    /// Dumps once no name can be changed any more, as after a change of the user: one that is whole, and
    /// one that is not.
    case namesRefused = "names-refused"
    case cutNamesRefused = "cut-names-refused"
    /// Has all threads block signals and one wait for them; with one more that is open for them.
    case waiting
    case waitingBeside = "waiting-beside"
    /// Obeys once it is not dumpable.
    case undumpable
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
    /// Obeys while the first thread has no room for a signal: on its alternate stack, in a handler
    /// there, or because that is too small.
    case firstOn2k = "first-on-2k"
    case firstInHandler = "first-handler"
    case first2k = "first-2k"
    /// Echoes lines on its only thread, which has no room.
    case only2k = "only-2k"
    /// Does what lines of standard input say; see `obey`.
    case obeying
    /// The same, with a heartbeat every 100 ms.
    case beating
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
    var options = HandlerOptions()
    if scene == .obeying || scene == .beating { openSignals() }
    if scene == .beating { options.heartbeatInterval = .milliseconds(100) }
    let handler = CrashLab.start(database, options)
    switch scene {
    case .now: say(try dumpFromHere(handler, andProcess: true))
    case .deferred, .faulting: say(try dumpFromHere(handler))
    case .namesRefused: dumpWithoutNames(handler)
    case .cutNamesRefused:
      var limit = rlimit(rlim_cur: 8192, rlim_max: 8192)
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      dumpWithoutNames(handler)
    case .waiting: waitForAllSignals(besideOpenThread: false)
    case .waitingBeside: waitForAllSignals(besideOpenThread: true)
    case .undumpable:
      condition_not_dumpable()
      try obey(handler)
    case .toPath: say(try handler.dumpWithoutCrash(to: path))
    case .processPath: say(try handler.processIntermediateDump(at: path).map { "\($0)" } ?? "none")
    case .server: try Server().dump(handler, stopsThreads: false)
    case .serverStopped: try Server().dump(handler, stopsThreads: true)
    case .manyThreads: dumpFromManyThreads(handler, 32)
    case .crash: crashWhileDumping(handler, stopsThreads: false)
    case .crashStopped: crashWhileDumping(handler, stopsThreads: true)
    case .firstOn2k, .firstInHandler, .first2k:
      Thread.start { try? obey(handler) }
      let kind = scene.rawValue.dropFirst("first-".count)
      unsafe condition_cramp_caller(String(kind))
      while true { pause() }
    case .only2k:
      unsafe condition_cramp_caller("2k")
      say("ready")
      while let line = readLine() { say(line) }
    case .obeying, .beating: try obey(handler)
    }
  }
}

/// An error that a report must name.
private enum OrderError: Error {
  case late(seconds: Int)
}

/// Lets all signals through: whoever starts this program from a worker thread has it inherit a mask that
/// blocks them.
private func openSignals() {
  var none = sigset_t()
  unsafe sigemptyset(&none)
  unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
}

/// Beside a thread that runs and one that waits.
private func obey(_ handler: Handler) throws {
  Thread.start { spinForEver() }
  Thread.start { while true { sleep(600) } }
  leaveBreadcrumb("waiting for orders", level: .notice, metadata: [("from", "standard input")])
  say("ready")
  while let line = readLine() {
    switch line {
    case "dump":
      try handler.dumpWithoutCrash(
        reason: "order waited too long", error: OrderError.late(seconds: 9),
        annotations: ["order": "4711"])
    case "dump-stopped": try handler.dumpWithoutCrash(stopsThreads: true)
    case "cramp": condition_cramped_threads()
    case "intact": guard condition_is_small_stack_intact() else { exit(EX_SOFTWARE) }
    case "default": for signal in Int32(35)...64 { _ = Glibc.signal(signal, SIG_DFL) }
    case "own": for signal in Int32(35)...64 { _ = Glibc.signal(signal, { _ in }) }
    case "fill": while dup(0) >= 0 {}
    case "exec":
      let words = unsafe [strdup("cat"), nil]
      _ = unsafe words.withUnsafeBufferPointer { unsafe execv("/bin/cat", $0.baseAddress!) }
    default: leaveBreadcrumb(line, level: .warning, metadata: [("kind", "unknown")])
    }
    say(line)
  }
}

/// Echoes lines, beside a thread that waits for all signals in sigwait(3) and says which came.
private func waitForAllSignals(besideOpenThread: Bool) {
  if besideOpenThread { Thread.start { spinForEver() } }
  var all = sigset_t()
  unsafe sigfillset(&all)
  unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
  Thread.start {
    var all = sigset_t()
    unsafe sigfillset(&all)
    var signal: Int32 = 0
    while true {
      unsafe sigwait(&all, &signal)
      say("the program took signal \(signal)")
    }
  }
  say("ready")
  while let line = readLine() { say(line) }
}

private func dumpWithoutNames(_ handler: Handler) {
  condition_refuse_names()
  do {
    say(try handler.dumpWithoutCrash())
  } catch {
    say("failed: \(error)")
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
