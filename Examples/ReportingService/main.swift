// A service that tells its reports what it was doing, watches itself for hangs, and sends what an
// earlier run left: `ReportingService DATABASE [URL]`. Docs/Reference/Upload.md names servers for the URL.
//
// It takes its orders from standard input: a word of work, `dump`, `hang` or `crash`.
import Foundation
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

/// Processes what earlier runs left, on a thread of its own.
func reportEarlierCrashes(of handler: Handler) async throws {
  for dump in try await handler.processIntermediateDumps() {
    print(dump)
    if let crash = dump.summary {
      print("crashed: \(crash.signature ?? "?"): \(crash.message ?? "no message")")
    }
  }
}

do {
  let handler = try startHandler(
    database: CommandLine.arguments[1], product: "ReportingService", version: "1.0")
  SimpleAnnotations.set("region", "here")
  _ = addAttachment(path: "/usr/lib/os-release")
  monitor = try HangMonitor.heartbeat(
    name: "orders", options: HangMonitor.Options(threshold: .seconds(2)))
  monitor?.pause()
  try await reportEarlierCrashes(of: handler)
  if CommandLine.arguments.count == 3 {
    let started = try handler.startProcessingPendingReports(to: CommandLine.arguments[2])
    let events = started.events
    Task.detached { for await event in events { print(event) } }
    uploader = started
  }
} catch {
  // A service continues without its crash handler.
  print("crash reports: \(error)")
}

var orders = 0
print("ready")
while let line = readLine() {
  orders += 1
  order.set(line)
  count.set(orders)
  leaveBreadcrumb("order \(orders): \(line)")
  monitor?.heartbeat()
  switch line {
  case "dump":
    if let handler = Handler.current { print("dumped as \(try handler.dumpWithoutCrash())") }
  case "hang": sleep(5)
  case "crash": fatalError("the order was to crash")
  default: print("did \(line)")
  }
  monitor?.pause()
}
await uploader?.stop()
