// A program that ends in ways that leave no dump: `EndVictim DATABASE WAY [off|none]`; "none" starts no
// handler, "off" one that does not follow how the run ends. Waits for a line where the way needs it.
internal import Glibc
internal import Postmortem
internal import Synchronization

private let arguments = CommandLine.arguments
guard arguments.count >= 3 else { exit(64) }
private let way = arguments[2]
private let mode = arguments.count > 3 ? arguments[3] : ""
if mode != "none" {
  var options = HandlerOptions()
  options.reportsUncleanEnds = mode != "off"
  try startHandler(
    database: arguments[1], product: "end victim", version: "1.2", options: options)
}

private func say(_ text: String) {
  let bytes = Array((text + "\n").utf8)
  _ = unsafe write(1, bytes, bytes.count)
}

private func waitForEver() -> Never {
  while true { pause() }
}

/// fork(2), which Swift does not import.
private func fork() -> Int32 {
  typealias Fork = @convention(c) () -> Int32
  return unsafe unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)()
}

/// Leaves this process to end, and says who goes on.
private func becomeDaemon() {
  guard daemon(1, 1) == 0 else { _exit(95) }
  say("daemon \(getpid())")
}

private func become(_ words: [String]) -> Never {
  var pointers = unsafe words.map { unsafe strdup($0) } + [nil]
  unsafe execv(words[0], &pointers)
  _exit(96)
}

private func beat(hanging: Bool) throws {
  let monitor = try HangMonitor.heartbeat(
    name: "loop", options: .init(threshold: .milliseconds(200)))
  monitor.beat()
  if !hanging {
    while true {
      monitor.beat()
      usleep(20_000)
    }
  }
  while true { pause() }
}

switch way {
case "exit": exit(3)
case "return": break
case "_exit": _exit(4)
case "_Exit": _Exit(4)
case "quick_exit": quick_exit(5)
case "thread-exit":
  exitOnAnotherThread()
case "fork-_exit":
  let child = fork()
  if child == 0 { _exit(7) }
  var status: Int32 = 0
  unsafe waitpid(child, &status, 0)
  _exit(7)
case "fork-exit":
  let child = fork()
  if child == 0 { exit(8) }
  var status: Int32 = 0
  unsafe waitpid(child, &status, 0)
  say("waiting")
  waitForEver()
case "fork-orphan":
  // The child outlives its parent, whose end is its own.
  if fork() == 0 {
    usleep(200_000)
    _exit(0)
  }
  exit(0)
case "daemon":
  becomeDaemon()
  _exit(0)
case "daemon-exit":
  becomeDaemon()
  exit(0)
case "daemon-wait":
  becomeDaemon()
  say("waiting")
  waitForEver()
case "wait":
  say("waiting")
  waitForEver()
case "handles-term":
  signal(SIGTERM) { _ in _exit(0) }
  say("waiting")
  waitForEver()
case "ignores-term":
  signal(SIGTERM, SIG_IGN)
  say("waiting")
  waitForEver()
case "slow-term":
  signal(SIGTERM) { _ in
    noteTermination()
    _ = unsafe write(1, "noted\n", 6)
  }
  say("waiting")
  waitForEver()
case "note-exit":
  noteTermination()
  exit(0)
case "close-all":
  // Not the standard ones.
  for descriptor in 3..<Int32(1024) { close(descriptor) }
  _exit(0)
case "no-file-size":
  var limit = rlimit(rlim_cur: 0, rlim_max: 0)
  unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
  _exit(0)
case "exec": become(["/bin/sh", "-c", "echo waiting; exec sleep 600"])
case "exec-self": become(["/proc/self/exe", arguments[1], "wait"])
case "exec-exit": become(["/bin/true"])
case "beat":
  say("waiting")
  try beat(hanging: false)
case "hang":
  say("waiting")
  try beat(hanging: true)
case "lock-beat":
  let file = unsafe open(arguments[1] + "/locked", O_RDWR | O_CREAT, 0o600)
  guard file >= 0, flock(file, LOCK_EX) == 0 else { _exit(94) }
  say("waiting")
  try beat(hanging: false)
case "eat":
  // More than any group of the tests may have.
  say("waiting")
  while true {
    let size = 1 << 20
    let memory = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { _exit(93) }
    unsafe memset(memory, 1, size)
  }
case "crash-at-exit":
  // Registered before the handler's own could not be: runs before it.
  _ = atexit { abort() }
  exit(0)
case "abort": abort()
default: exit(64)
}
