import CrashTestSupport
import Foundation

/// Many runs of one scene, each with a different disturbance.
struct Sweep: Sendable {
  /// True if every call is disturbed in every way: `POSTMORTEM_FAULTS=all`.
  static let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_FAULTS"] == "all"

  let scene: Scene
  /// The run of the scene without a disturbance.
  let calm: InjectedRun

  init(_ scene: Scene) async throws {
    self.scene = scene
    calm = try await InjectedRun(scene, .none)
  }

  /// The calls to disturb: all of them for a full sweep and for the first scene, otherwise one in `stride`.
  func calls(oneIn stride: Int) -> [InjectorReport.Call] {
    let calls = calm.report.calls.sorted {
      ($0.role.rawValue, $0.index) < ($1.role.rawValue, $1.index)
    }
    if Self.isFull { return calls }
    return calls.indices.filter { $0 % stride == stride / 2 }.map { calls[$0] }
  }

  /// The errors to try for a call: all of them for a full sweep, otherwise one, in rotation.
  func errors(_ turn: Int) -> [Int32] {
    Self.isFull ? Disturbance.errors : [Disturbance.errors[turn % Disturbance.errors.count]]
  }

  /// Runs the scene once for each disturbance, and names the disturbances after which something is wrong.
  ///
  /// - Parameter problem: what is wrong with a run; nil if nothing is.
  func run(
    _ disturbances: [Disturbance],
    _ problem: @escaping @Sendable (InjectedRun, Disturbance) -> String?
  ) async throws -> [String] {
    try await withThrowingTaskGroup(of: String?.self) { group in
      for disturbance in disturbances {
        group.addTask { [scene] in
          let run = try await InjectedRun(scene, disturbance)
          return problem(run, disturbance).map { "\(disturbance): \($0)" }
        }
      }
      return try await group.reduce(into: []) { if let problem = $1 { $0.append(problem) } }
    }
  }
}
