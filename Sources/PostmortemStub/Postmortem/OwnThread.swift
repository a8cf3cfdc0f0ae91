internal import CrashConverter

/// Runs work at once: without reports none of it blocks.
enum OwnThread {
  static func run<Value: Sendable>(
    _ work: @Sendable () throws(CrashConverterError) -> Value
  ) async throws(CrashConverterError) -> Value {
    try work()
  }
}
