internal import CrashConverter

/// Runs work on the calling thread.
///
/// On this system, all work throws an error immediately, so it needs no separate thread.
enum OwnThread {
  static func run<Value: Sendable>(
    _ work: @Sendable () throws(CrashConverterError) -> Value
  ) async throws(CrashConverterError) -> Value {
    try work()
  }
}
