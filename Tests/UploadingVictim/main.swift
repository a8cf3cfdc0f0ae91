// A program that uploads while it waits or ends: `UploadingVictim DATABASE URL|none WAY MICROSECONDS`.
//
// `wait-with-all` has every option, monitors and heartbeats on; `wait-with-nothing` has no handler, and has used
// Dispatch's pool of threads. `wait-and-tick` and `wait-and-spin` have a thread in addition, which wakes up once a
// second, or never sleeps. With these four and with `wait`, the program ends at the end of its standard input. With
// `first-result`, it ends when an upload has ended or none is possible, and prints that event and the handler's status.
// In the other ways, the program ends that many microseconds after its uploader has started, or at SIGUSR1, with exit
// code 7. It first loads the library that UPLOADING_VICTIM_GLOBAL or UPLOADING_VICTIM_LOCAL names, with RTLD_GLOBAL or
// RTLD_LOCAL.
@unsafe @preconcurrency internal import Dispatch
@unsafe @preconcurrency internal import Glibc
internal import Postmortem
internal import PostmortemUpload

/// A place for a debugger's breakpoint: all handlers of `exit` except those of libraries have run here.
func lastHandler() {
  let time = unsafe DispatchTime.now().uptimeNanoseconds - exitTime
  print("exit took \(time / 1_000_000) ms")
  unsafe fflush(stdout)
}

/// Runs the main queue, which its monitor needs, until standard input ends.
func waitForInput() -> Never {
  let input = DispatchSource.makeReadSource(fileDescriptor: 0, queue: .main)
  input.setEventHandler {
    var byte: UInt8 = 0
    if unsafe read(0, &byte, 1) <= 0 { exit(7) }
  }
  input.activate()
  dispatchMain()
}

/// Runs an uploader until it has sent a report or has found out that it cannot.
func runUntilFirstResult(_ uploader: ReportUploader) async throws -> Never {
  let events = uploader.events
  try uploader.start()
  for await event in events where event.kind != .began && event.kind != .progressed {
    print("\(event.kind.rawValue): \(event)\nstatus: \(handler.status)")
    unsafe fflush(stdout)
    await uploader.stop()
    exit(code)
  }
  exit(66)
}

guard CommandLine.arguments.count == 5, let delay = UInt32(CommandLine.arguments[4]) else {
  exit(64)
}
let (database, url, way) = (
  CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3]
)
nonisolated(unsafe) var exitTime: UInt64 = 0
atexit { lastHandler() }
// An exit code that has no other cause.
let code: Int32 = 7

if ["wait-with-nothing", "wait-and-tick", "wait-and-spin"].contains(way) {
  DispatchQueue.global().async {
    print("ready")
    unsafe fflush(stdout)
    while way == "wait-and-tick" { sleep(1) }
    while way == "wait-and-spin" { _ = poll(nil, 0, 0) }
  }
  waitForInput()
}
for (name, mode) in [("GLOBAL", RTLD_GLOBAL), ("LOCAL", RTLD_LOCAL)] {
  guard let path = unsafe getenv("UPLOADING_VICTIM_" + name) else { continue }
  guard unsafe dlopen(path, RTLD_NOW | mode) != nil else { exit(65) }
}
var options = HandlerOptions()
let hasAll = way == "wait-with-all"
if hasAll {
  options.recordsThrowSites = true
  options.heartbeatInterval = .seconds(10)
}
let handler = try startHandler(
  database: database, product: "uploading victim", version: "1", options: options)
var monitors: [HangMonitor] = []
if hasAll {
  monitors = [try HangMonitor.mainThread(), try HangMonitor.heartbeat(name: "loop")]
  monitors.last?.heartbeat()
  monitors.last?.pause()
}
var uploader: ReportUploader?
if url != "none" {
  var options = UploadOptions()
  options.interval = .zero
  guard way != "first-result" else {
    try await runUntilFirstResult(ReportUploader(database: database, to: url, options: options))
  }
  uploader = try handler.startProcessingPendingReports(to: url, options: options)
}
print("ready")
unsafe fflush(stdout)
guard way.hasPrefix("wait") else {
  // SIGUSR1 interrupts the sleep.
  signal(SIGUSR1) { _ in }
  usleep(delay)
  unsafe exitTime = DispatchTime.now().uptimeNanoseconds
  switch way {
  case "exit": exit(code)
  case "quick-exit": quick_exit(code)
  case "terminate": raise(SIGTERM)
  case "fork":
    typealias Fork = @convention(c) () -> Int32
    let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
    let child = fork()
    unsafe exitTime = DispatchTime.now().uptimeNanoseconds
    if child == 0 { exit(code) }
    var status: Int32 = 0
    unsafe waitpid(child, &status, 0)
    print("child \(status)")
    unsafe fflush(stdout)
    _exit(code)
  default: break
  }
  // Exits as if `main` returned after the last statement.
  exit(code)
}
waitForInput()
