import CrashReportDatabase
import CrashReportUpload
import CrashTestSupport
import Foundation
import IntermediateDump
import Synchronization

/// Many hosts in a crash loop and one slow receiver, in simulated time.
///
/// Each host has its own database and the library's uploader. A request that the receiver accepts is also sent to
/// a real receiver on loopback, which reads the form.
final class SimulatedFleet {
  struct Plan {
    var hosts = 20
    /// The number of crashes of each host; the first crash of all hosts is in the same second.
    var crashes = 12
    /// The time between two crashes of a host, in seconds.
    var crashInterval: Int64 = 20
    var signatures = 1
    /// The seconds that the receiver takes for a request.
    var service: Int64 = 3
    /// The number of requests that it serves at a time; it answers further ones with 429.
    var capacity = 10
    /// One in this many answers is lost.
    var lostAnswers = 17
    var options = UploadOptions()
  }

  /// A request that the receiver accepted.
  struct Taken: Sendable {
    let host: Int
    let time: Int64
    let wasLost: Bool
  }

  private struct State {
    var now: Int64
    var taken: [Taken] = []
    /// The number of requests in each second, including refused ones.
    var asked: [Int64: Int] = [:]
    var refused = 0
    /// The times at which the requests being served end.
    var serving: [Int64] = []
    var mostServed = 0
    var random = SystemRandomNumberGenerator()
  }

  private final class Host {
    let database: UploadDatabase
    var uploads: SteppedUploads
    var crashesLeft: Int
    var nextCrash: Int64
    var nextPass: Int64

    init(_ database: UploadDatabase, _ uploads: SteppedUploads, _ plan: Plan, _ now: Int64) {
      self.database = database
      self.uploads = uploads
      crashesLeft = plan.crashes
      (nextCrash, nextPass) = (now, now)
    }
  }

  let plan: Plan
  let start: Int64
  private let receiver: UploadReceiver
  private let target: UploadTarget
  private let state: SharedState
  private var hosts: [Host] = []

  private final class SharedState: Sendable {
    let state: Mutex<State>
    init(_ state: State) { self.state = Mutex(state) }
  }

  init(_ plan: Plan) throws {
    self.plan = plan
    receiver = try UploadReceiver()
    target = try UploadTarget(url: receiver.url, options: plan.options)
    // The simulated time is in the past: the database takes a future time for one of a wrong clock.
    start = Int64(Date().timeIntervalSince1970) - 30 * 86400
    state = SharedState(State(now: start))
    for number in 0..<plan.hosts {
      let database = try UploadDatabase()
      hosts.append(Host(database, uploads(of: number, database), plan, start))
    }
  }

  /// The requests that the real receiver got.
  var forms: [UploadReceiver.Form] { receiver.forms }
  var taken: [Taken] { state.state.withLock { $0.taken } }
  var refused: Int { state.state.withLock { $0.refused } }
  var mostServed: Int { state.state.withLock { $0.mostServed } }
  /// The number of requests in each second.
  var asked: [Int64: Int] { state.state.withLock { $0.asked } }

  /// The number of reports that no upload has reported, whole or as a count.
  func pending() throws -> Int {
    try hosts.reduce(0) { sum, host in
      try sum + host.database.database.reports().filter { $0.state == .pending }.count
    }
  }

  /// Runs until nothing more happens, or until the time limit.
  ///
  /// - Returns: the simulated seconds that it took.
  func run(limit: Int64) async throws -> Int64 {
    while let (time, number) = next(), time - start < limit {
      state.state.withLock { $0.now = time }
      let host = hosts[number]
      if host.crashesLeft > 0, host.nextCrash <= time {
        try Self.setCreationTime(
          time,
          of: try host.database.addReport(
            signature: "SIGSEGV | f\(host.crashesLeft % plan.signatures)"), in: host.database)
        host.crashesLeft -= 1
        host.nextCrash += plan.crashInterval
        // The crash ends the process; the next process of the host uploads.
        host.uploads = uploads(of: number, host.database)
        host.nextPass = time
        continue
      }
      if host.crashesLeft == 0,
        try host.database.database.reports().allSatisfy({ $0.state != .pending })
      {
        host.nextPass = .max
        continue
      }
      host.nextPass = time + max(1, await host.uploads.pass())
    }
    return state.state.withLock { $0.now } - start
  }

  /// Writes the simulated time into a report's metadata.
  private static func setCreationTime(
    _ time: Int64, of id: ReportID, in database: UploadDatabase
  ) throws {
    let path = try database.report(id).path.dropLast(4) + ".meta"
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: String(path)))
    try file.seek(toOffset: 16)
    try file.write(contentsOf: Data((0..<8).map { UInt8(truncatingIfNeeded: time >> ($0 * 8)) }))
    try file.close()
  }

  private func next() -> (Int64, Int)? {
    var best: (Int64, Int)?
    for (number, host) in hosts.enumerated() {
      let time = min(host.crashesLeft > 0 ? host.nextCrash : .max, host.nextPass)
      if time < best?.0 ?? .max { best = (time, number) }
    }
    return best
  }

  private func uploads(of number: Int, _ database: UploadDatabase) -> SteppedUploads {
    let (state, plan) = (state, plan)
    return SteppedUploads(
      database.database, to: target, now: { state.state.withLock { $0.now } },
      random: { state.state.withLock { Double.random(in: 0...1, using: &$0.random) } }
    ) { request in
      let isFull = state.state.withLock { state in
        state.asked[state.now, default: 0] += 1
        state.serving.removeAll { $0 <= state.now }
        guard state.serving.count < plan.capacity else {
          state.refused += 1
          return true
        }
        state.serving.append(state.now + plan.service)
        state.mostServed = max(state.mostServed, state.serving.count)
        return false
      }
      if isFull { return SteppedUploads.Answer(status: 429, retryAfter: "20") }
      let answer = await request.send()
      let isLost = state.state.withLock { state in
        let isLost = Int.random(in: 1...plan.lostAnswers, using: &state.random) == 1
        state.taken.append(Taken(host: number, time: state.now, wasLost: isLost))
        return isLost
      }
      return isLost ? SteppedUploads.Answer(status: 0) : answer
    }
  }
}
