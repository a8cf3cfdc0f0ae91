// A service that adds annotations and breadcrumbs to its reports, detects its own hangs, and uploads the reports
// of earlier runs: `ReportingService DATABASE [URL]`. Docs/Guide/Uploading.md lists servers for the URL.
//
// It reads orders from standard input, one a line: `dump`, `hang`, `crash`, or any other text as work.
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

/// Converts the dumps of earlier runs on another thread, and prints them.
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
  // The service continues without a crash handler.
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
