internal import CrashConverter

/// Runs work on the calling thread.
///
/// On this system, no work blocks: all work throws an error immediately.
enum OwnThread {
  static func run<Value: Sendable>(
    _ work: @Sendable () throws(CrashConverterError) -> Value
  ) async throws(CrashConverterError) -> Value {
    try work()
  }
}
