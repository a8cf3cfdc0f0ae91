// A program that leaves its dumps to a process beside it: it links no code that reads dumps.
//
//   HandlerOnly DATABASE
//
// Beside it, for as long as it runs, in a container of its own for one; DATABASE must be there:
//
//   postmortem watch DATABASE --create
//
// Or once, after a crash: postmortem process DATABASE
import Glibc
import PostmortemHandler

guard CommandLine.arguments.count == 2 else {
  print("usage: HandlerOnly DATABASE")
  exit(EX_USAGE)
}

do {
  var options = HandlerOptions()
  // The reports are made by another user of this group: options.sharedGroup = "crashes"
  options.heartbeatInterval = .seconds(10)
  try startHandler(
    database: CommandLine.arguments[1], product: "HandlerOnly", version: "1.0", options: options)
} catch {
  print("no crash reports from this run: \(error)")
}

let line = Annotation<String>("line", capacity: 64)
while let word = readLine() {
  line.set(word)
  guard let number = Int(word) else { fatalError("not a number: \(word)") }
  print(number * 2)
}
