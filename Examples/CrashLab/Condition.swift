internal import CCrashLab

/// The circumstances of a crash, for example a lock that its thread holds or an exhausted resource.
struct Condition: Sendable {
  let name: String
  let summary: String
  /// Sets up the condition before the handler starts.
  var before: (@Sendable () -> Void)?
  /// Sets up the condition after the handler has started; takes the database's directory, nil without a handler.
  var after: (@Sendable (String?) -> Void)?
  /// Runs the crash under the condition, on the crashing thread.
  var around: (@Sendable (CrashBody) -> Void)?

  static let all: [Condition] =
    lockConditions + momentConditions + threadConditions + moduleConditions + resourceConditions
    + childConditions + handlerConditions + signalConditions + privilegeConditions
    + filterConditions + converterConditions

  /// Runs a crash under this condition.
  func surround(_ crash: @escaping @Sendable () -> Void) {
    guard let around else { return crash() }
    around(CrashBody(crash))
  }
}

/// A crash in the form that C functions take; never released, because several threads and processes may run it.
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
