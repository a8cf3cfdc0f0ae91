internal import Glibc

/// A pthread that runs a closure.
@safe
struct Thread {
  private let handle: pthread_t

  private final class Work {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  /// - Parameter stackSize: in bytes; nil for the system's default.
  @discardableResult
  static func start(stackSize: Int? = nil, _ run: @escaping @Sendable () -> Void) -> Thread {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    if let stackSize {
      // 128 KiB on arm64.
      let least = sysconf(Int32(_SC_THREAD_STACK_MIN))
      let result = unsafe pthread_attr_setstacksize(&attributes, max(stackSize, least))
      check(result, "pthread_attr_setstacksize")
    }
    var handle = pthread_t()
    let work = unsafe Unmanaged.passRetained(Work(run)).toOpaque()
    let result = unsafe pthread_create(
      &handle, &attributes,
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, work)
    check(result, "pthread_create")
    return Thread(handle: handle)
  }

  func join() { pthread_join(handle, nil) }

  private static func check(_ result: Int32, _ call: String) {
    guard result != 0 else { return }
    standardError("crash-lab: \(call): errno \(result)\n")
    exit(EX_OSERR)
  }
}
