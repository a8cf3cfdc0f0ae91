import Glibc
import Postmortem
import Synchronization

/// Answers requests; reports contain a context for each request.
struct Router {
  /// Whether requests set contexts and leave breadcrumbs; false for a server without crash reports.
  let isReported: Bool
  /// The number of requests that the process has answered, which each report shows.
  private static let answered = Annotation<Int>("requests-answered")
  private static let count = Atomic(0)

  /// Answers a request within its context, so that a report names the request that crashed among concurrent ones.
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
    // The health check of a load balancer or Kubernetes. A hung loop does not answer it.
    case "/healthz": return Response(text: "ok\n")
    // Simulates a slow query.
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
