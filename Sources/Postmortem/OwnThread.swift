internal import CrashConverter
internal import Glibc

/// Runs blocking work on a new thread.
///
/// Swift concurrency has only about one thread per processor, so blocking one of them would delay other tasks.
enum OwnThread {
  typealias Work<Value: Sendable> = @Sendable () throws(CrashConverterError) -> Value

  /// Runs work on a new thread, or on the calling thread if the system refuses a new thread.
  static func run<Value: Sendable>(
    _ work: @escaping Work<Value>
  ) async throws(CrashConverterError) -> Value {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<Value, CrashConverterError>, Never>) in
      start {
        do throws(CrashConverterError) {
          continuation.resume(returning: .success(try work()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private static func start(_ body: @escaping @Sendable () -> Void) {
    let retained = unsafe Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    let failure = unsafe pthread_create(
      &thread, nil,
      { argument in
        if let argument = unsafe argument {
          unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        }
        return nil
      }, retained.toOpaque())
    if failure == 0 {
      pthread_detach(thread)
    } else {
      unsafe retained.takeRetainedValue().run()
    }
  }
}
