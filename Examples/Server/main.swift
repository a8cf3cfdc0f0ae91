// An HTTP server with a crash handler. Reports contain a context for each request. A hang monitor watches each
// event loop. After SIGTERM, the server answers the running requests and exits. `/crash/...` crashes it.
//
//   Server [DATABASE [PORT]] [--threads N] [--no-handler]
//
// Without DATABASE, the variable POSTMORTEM_DATABASE names the directory, as in Examples/Deployment.
// `load.sh` in this directory loads the server, crashes it, starts it again and shows the report.
import Glibc
import Postmortem

let options = ServerOptions(CommandLine.arguments.dropFirst())

if options.hasHandler {
  do {
    let handler = try startHandler(
      database: options.database, product: "Server", version: "1.0",
      annotations: ["listening-threads": "\(options.threads)"])
    Task.detached(priority: .background) {
      do {
        for dump in try await handler.processIntermediateDumps() { note("\(dump)") }
      } catch { note("crash reports stay unprocessed: \(error)") }
    }
  } catch {
    // The server continues without a crash handler.
    note("no crash reports from this run: \(error)")
  }
}

// If a client disconnects, write(2) fails; SIGPIPE does not end the server.
signal(SIGPIPE, SIG_IGN)
let listener = Listener(port: options.port)
let shutdown = Shutdown(listener: listener.descriptor, loops: options.threads)
let terminations = shutdown.begins(at: SIGTERM)
note("listening on 127.0.0.1:\(listener.port)")

let loops = (0..<options.threads).map { number in
  ServerThread {
    EventLoop(
      number: number, listener: listener.descriptor, shutdown: shutdown,
      router: Router(isReported: options.hasHandler)
    ).run()
  }
}
for loop in loops { loop.join() }
note("stopped")

/// Writes a line to the log.
func note(_ text: String) {
  let line = Array("server: \(text)\n".utf8)
  _ = unsafe write(STDERR_FILENO, line, line.count)
}
