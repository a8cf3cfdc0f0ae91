import Glibc
import Postmortem
import Synchronization

/// Answers requests, each as a context of its own in reports.
struct Router {
  /// Off, requests are answered as by a server that has no crash reports at all.
  let isReported: Bool
  /// Requests that the process has answered, as every report shows it.
  private static let answered = Annotation<Int>("requests-answered")
  private static let count = Atomic(0)

  /// The context goes with the work: of many requests at once the report names the one that crashed.
  func answer(_ request: Request) -> Response {
    guard isReported else { return route(request) }
    let count = Self.count.add(1, ordering: .relaxed).newValue
    return withContext("request-id", request.id ?? "\(getpid())-\(count)") {
      withContext("request", "\(request.method) \(request.path)") {
        leaveBreadcrumb("\(request.method) \(request.path)")
        let response = route(request)
        Self.answered.set(count)
        return response
      }
    }
  }

  private func route(_ request: Request) -> Response {
    switch request.path {
    case "/": return Response(text: "Hello\n")
    // For a load balancer or Kubernetes: a loop that hangs does not answer.
    case "/healthz": return Response(text: "ok\n")
    // Stands in for a query that takes its time.
    case "/slow":
      usleep(200_000)
      return Response(text: "slow\n")
    case "/crash": return Response(text: Crash.all.map { "\($0.path)\n" }.joined())
    default:
      guard let crash = Crash.all.first(where: { request.path == $0.path }) else {
        return Response(status: "404 Not Found", text: "no such path\n")
      }
      leaveBreadcrumb("about to crash: \(crash.path)")
      crash.run()
      return Response(text: "survived\n")
    }
  }
}
