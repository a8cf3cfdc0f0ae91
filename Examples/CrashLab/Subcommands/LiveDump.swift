internal import CCrashLab
internal import Glibc
internal import Postmortem
internal import Synchronization

/// A program that takes dumps without a crash, or crashes while it takes them.
struct LiveDump: Subcommand {
  private enum Scene: String, CaseIterable {
    /// One dump, converted to a report immediately.
    case now
    /// One dump for the next start.
    case deferred
    /// The same, in a process in which reading the module list faults.
    case faulting
    /// One dump while files cannot be renamed, as after a change of the user: a complete dump, and one that a
    /// file size limit truncates.
    case namesRefused = "names-refused"
    case cutNamesRefused = "cut-names-refused"
    /// All threads block signals, and one waits for them; the second scene adds a thread that blocks none.
    case waiting
    case waitingBeside = "waiting-beside"
    /// Obeys (see `obey`) after PR_SET_DUMPABLE 0.
    case undumpable
    /// One dump, to PATH.
    case toPath = "to-path"
    /// Converts the dump at PATH.
    case processPath = "process-path"
    /// Three dumps of a program whose threads wait in system calls.
    case server
    /// The same, and each dump stops the threads.
    case serverStopped = "server-stopped"
    /// 32 threads with one dump each, all at once.
    case manyThreads = "many-threads"
    /// Eight threads that continuously take dumps, and a crash.
    case crash
    /// The same, and each dump stops the threads.
    case crashStopped = "crash-stopped"
    /// Obeys while the first thread has no room for a signal frame: it runs on its alternate stack, in a handler
    /// on that stack, or the stack is too small.
    case firstOn2k = "first-on-2k"
    case firstInHandler = "first-handler"
    case first2k = "first-2k"
    /// Echoes lines on the only thread, which has no room for a signal frame.
    case only2k = "only-2k"
    /// Obeys the lines of standard input; see `obey`.
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

/// An error that a report must contain.
private enum OrderError: Error {
  case late(seconds: Int)
}

/// Unblocks all signals: if a worker thread starts this program, the program inherits a mask that blocks
/// them.
private func openSignals() {
  var none = sigset_t()
  unsafe sigemptyset(&none)
  unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
}

/// Obeys the lines of standard input, in a process with a busy thread and a sleeping one.
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

/// Echoes lines while another thread waits for all signals in sigwait(3) and prints each that arrives.
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

/// Takes a dump; its report must contain the frame of this function.
@inline(never)
func dumpFromHere(_ handler: Handler, andProcess: Bool = false) throws -> ReportID {
  let reportID = try handler.dumpWithoutCrash()
  if andProcess { try handler.processIntermediateDump(reportID) }
  // A statement after the calls prevents a tail call, so that this frame stays on the stack.
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

/// Crashes once each thread has taken a dump.
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

/// Maps a file, truncates it, and makes process_vm_readv(2) fail, so that reading the module list faults.
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
