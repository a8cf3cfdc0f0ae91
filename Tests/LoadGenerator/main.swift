// Sends requests to a server on this machine as fast as it answers: `load-generator PORT [SECONDS [CONNECTIONS
// [PATH]]]`.
internal import CrashTestSupport
internal import Foundation

let words = CommandLine.arguments.dropFirst().map(\.self)
let seconds = words.count > 1 ? Double(words[1]) : 2
let connections = words.count > 2 ? Int(words[2]) : 8
guard (1...4).contains(words.count), let port = UInt16(words[0]), let seconds, seconds > 0,
  let connections, (1...1000).contains(connections)
else {
  print("usage: load-generator PORT [SECONDS [CONNECTIONS [PATH]]]")
  exit(EX_USAGE)
}
let load = try LoadGenerator(
  port: port, connections: connections, path: words.count > 3 ? words[3] : "/")
let start = ContinuousClock.now
usleep(UInt32(min(seconds, 3600) * 1e6))
let outcome = load.stop()
let time = start.duration(to: .now) / .seconds(1)
print(
  "\(outcome.answered) answers, \(outcome.lost.count) lost, \(outcome.refused.count) refused, "
    + "\(Int(Double(outcome.answered) / time)) a second")
exit(outcome.lost.isEmpty && outcome.refused.isEmpty ? 0 : 1)
