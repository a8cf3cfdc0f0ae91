// A program whose dumps another process converts: this one links no code that reads dumps.
//
//   HandlerOnly DATABASE
//
// Run the converter at the same time, for example in another container that shares DATABASE:
//
//   postmortem watch DATABASE --create
//
// Or convert the dumps once, after a crash: postmortem process DATABASE
import Glibc
import PostmortemHandler

guard CommandLine.arguments.count == 2 else {
  print("usage: HandlerOnly DATABASE")
  exit(EX_USAGE)
}

do {
  var options = HandlerOptions()
  // If another user of a common group makes the reports: options.sharedGroup = "crashes"
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
