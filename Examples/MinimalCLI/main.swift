import Postmortem

do {
  try startHandler(database: "/var/tmp/minimal-cli-crashes")
  Task.detached(priority: .background) {
    do {
      for dump in try processIntermediateDumps() { print(dump) }
    } catch { print("crash reports stay unprocessed: \(error)") }
  }
} catch { print("no crash reports from this run: \(error)") }

print("Hello, \(readLine() ?? "world")")
