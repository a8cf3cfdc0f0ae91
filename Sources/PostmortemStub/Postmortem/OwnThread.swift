internal import CrashConverter

/// Runs work on the calling thread; on this system, the work throws an error immediately instead of blocking.
enum OwnThread {
  static func run<Value: Sendable>(
    _ work: @Sendable () throws(CrashConverterError) -> Value
  ) async throws(CrashConverterError) -> Value {
    try work()
  }
}
