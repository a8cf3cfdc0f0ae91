internal import CrashConverter

/// Runs work on the calling thread, because without reports no work blocks.
enum OwnThread {
  static func run<Value: Sendable>(
    _ work: @Sendable () throws(CrashConverterError) -> Value
  ) async throws(CrashConverterError) -> Value {
    try work()
  }
}
