internal import CCrashLab

/// What surrounds a crash: a lock that its thread holds, the moment it comes, what the process has run out of.
struct Condition: Sendable {
  let name: String
  let summary: String
  /// Made before the handler starts.
  var before: (@Sendable () -> Void)?
  /// Made after the handler has started; takes the database's directory, nil without a handler.
  var after: (@Sendable (String?) -> Void)?
  /// Made by the crashing thread, and holds while it crashes.
  var around: (@Sendable (CrashBody) -> Void)?

  static let all: [Condition] =
    lockConditions + momentConditions + threadConditions + moduleConditions + resourceConditions
    + childConditions + handlerConditions + signalConditions + privilegeConditions
    + filterConditions + converterConditions

  /// Runs a crash in the midst of this condition.
  func surround(_ crash: @escaping @Sendable () -> Void) {
    guard let around else { return crash() }
    around(CrashBody(crash))
  }
}

/// A crash as functions of C take it: never released, since several threads and processes may run it.
@safe
struct CrashBody {
  let context: UnsafeMutableRawPointer
  let function: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
    guard let context = unsafe context else { return }
    unsafe Unmanaged<Crash>.fromOpaque(context).takeUnretainedValue().run()
  }

  private final class Crash: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  init(_ run: @escaping @Sendable () -> Void) {
    unsafe context = Unmanaged.passRetained(Crash(run)).toOpaque()
  }
}
