// A server with worker processes. The parent starts the handler and forks the workers. A worker that
// crashes leaves its own dump; the parent converts the dump to a report and starts another worker.
//
//   PreforkServer DATABASE [PORT] [WORKERS]
import Glibc
import Postmortem

guard (2...4).contains(CommandLine.arguments.count) else {
  note("usage: PreforkServer DATABASE [PORT] [WORKERS]")
  exit(EX_USAGE)
}
let arguments = CommandLine.arguments + ["0", "2"].suffix(4 - CommandLine.arguments.count)
guard let port = UInt16(arguments[2]), let count = Int(arguments[3]), (1...64).contains(count)
else {
  note("usage: PreforkServer DATABASE [PORT] [WORKERS]")
  exit(EX_USAGE)
}

// Start the handler before the first fork, so that the workers inherit it. The parent uses neither Dispatch
// nor tasks, because both create threads, and a forked child has only the thread that called fork(2).
let handler: Handler?
do {
  handler = try startHandler(database: arguments[1], product: "PreforkServer", version: "1.0")
} catch {
  note("no crash reports from this run: \(error)")
  handler = nil
}

// Block these signals; the parent takes them with sigwait(3).
var awaited = sigset_t()
unsafe sigemptyset(&awaited)
for number in [SIGTERM, SIGCHLD] { unsafe sigaddset(&awaited, number) }
unsafe sigprocmask(SIG_BLOCK, &awaited, nil)

let listener = listen(port: port)
reportCrashes()
var workers: Set<pid_t> = []
for _ in 0..<count { startWorker() }
note("listening on 127.0.0.1:\(portOfSocket(listener)), \(count) workers")

var isEnding = false
while !isEnding {
  var number: Int32 = 0
  unsafe sigwait(&awaited, &number)
  if number == SIGTERM {
    isEnding = true
    break
  }
  // Two workers that end at the same time may cause only one SIGCHLD.
  var status: Int32 = 0
  while case let worker = unsafe waitpid(-1, &status, WNOHANG), worker > 0 {
    workers.remove(worker)
    note("worker \(worker) ended with status \(status)")
    startWorker()
  }
  reportCrashes()
}
noteTermination()
for worker in workers { kill(worker, SIGTERM) }
for worker in workers { waitpid(worker, nil, 0) }
note("stopped")

/// Converts the dumps of workers and of earlier runs to reports.
func reportCrashes() {
  guard let handler else { return }
  do {
    for dump in try handler.processIntermediateDumps() { note("\(dump)") }
  } catch { note("crash reports stay unprocessed: \(error)") }
}

@MainActor
func startWorker() {
  let child = systemFork()
  if child == 0 {
    serve(listener)
  } else if child > 0 {
    workers.insert(child)
  } else {
    note("cannot fork: \(unsafe String(cString: strerror(errno)))")
  }
}

/// Answers one request per connection until SIGTERM ends the process.
///
/// The signal is blocked except while the worker waits for a client, so it does not interrupt a request.
func serve(_ listener: Int32) -> Never {
  signal(SIGPIPE, SIG_IGN)
  var termination = sigset_t()
  unsafe sigemptyset(&termination)
  unsafe sigaddset(&termination, SIGTERM)
  while true {
    var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
    unsafe sigprocmask(SIG_UNBLOCK, &termination, nil)
    let count = unsafe poll(&waiting, 1, -1)
    unsafe sigprocmask(SIG_BLOCK, &termination, nil)
    guard count > 0 else { continue }
    // Another worker may have accepted the connection; accept(2) then fails because the listener is nonblocking.
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { continue }
    // Limit the time that a client that sends nothing can occupy the worker.
    var patience = timeval(tv_sec: 5, tv_usec: 0)
    unsafe setsockopt(
      connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var buffer = [UInt8](repeating: 0, count: 4096)
    let size = max(0, unsafe read(connection, &buffer, buffer.count))
    let head = String(decoding: buffer.prefix(size), as: UTF8.self).split(separator: "\r\n")
    let line = head.first.map(String.init) ?? ""
    let id = head.lazy.filter { $0.lowercased().hasPrefix("x-request-id: ") }.first?.dropFirst(14)
    let text = withContext("request-id", id.map(String.init) ?? "none") {
      withContext("request", line.split(separator: " ").prefix(2).joined(separator: " ")) {
        answer(line)
      }
    }
    let response = Array(
      "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
        .utf8)
    _ = unsafe write(connection, response, response.count)
    close(connection)
  }
}

func answer(_ line: String) -> String {
  if line.hasPrefix("GET /crash") { fatalError("a worker was to crash") }
  return "worker \(getpid())\n"
}
