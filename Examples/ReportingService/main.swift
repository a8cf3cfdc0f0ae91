// A service that tells its reports what it was doing, watches itself for hangs, and sends what an
// earlier run left: `ReportingService DATABASE [URL]`. Docs/Upload.md names servers for the URL.
//
// It takes its orders from standard input: a word of work, `dump`, `hang` or `crash`.
import Glibc
import Postmortem
import PostmortemUpload

guard (2...3).contains(CommandLine.arguments.count) else {
  print("usage: ReportingService DATABASE [URL]")
  exit(EX_USAGE)
}

let order = Annotation<String>("order", capacity: 64)
let count = Annotation<Int>("orders")
var uploader: ReportUploader?
var monitor: HangMonitor?

do {
  try startHandler(database: CommandLine.arguments[1], product: "ReportingService", version: "1.0")
  SimpleAnnotations.set("region", "here")
  _ = addAttachment(path: "/usr/lib/os-release")
  monitor = try HangMonitor.heartbeat(
    name: "orders", options: HangMonitor.Options(threshold: .seconds(2)))
  monitor?.pause()
  for dump in try processIntermediateDumps() { print(dump) }
  if CommandLine.arguments.count == 3 {
    let started = try startProcessingPendingReports(to: CommandLine.arguments[2])
    let events = started.events
    Task.detached { for await event in events { print(event) } }
    uploader = started
  }
} catch {
  // A service goes on without its crash handler.
  print("crash reports: \(error)")
}

var orders = 0
print("ready")
while let line = readLine() {
  orders += 1
  order.set(line)
  count.set(orders)
  leaveBreadcrumb("order \(orders): \(line)")
  monitor?.beat()
  switch line {
  case "dump": print("dumped as \(try dumpWithoutCrash())")
  case "hang": sleep(5)
  case "crash": fatalError("the order was to crash")
  default: print("did \(line)")
  }
  monitor?.pause()
}
await uploader?.stop()
