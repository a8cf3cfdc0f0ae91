internal import CCrashLab
internal import Glibc

// Locks that the crashing thread holds.

extension Condition {
  static let lockConditions: [Condition] = [
    Condition(
      name: "malloc-lock", summary: "inside malloc, whose arena is locked",
      before: { condition_prepare_malloc() },
      around: { unsafe condition_in_malloc($0.function, $0.context) }),
    Condition(
      name: "loader-lock", summary: "in a callback of dl_iterate_phdr",
      around: { unsafe condition_holding_loader_lock($0.function, $0.context) }),
    Condition(
      name: "stdio-lock", summary: "with stdout and stderr locked",
      around: { unsafe condition_holding_stdio_lock($0.function, $0.context) }),
    Condition(
      name: "metadata-lock", summary: "while Swift's runtime makes the metadata of a generic type",
      before: { condition_prepare_malloc() },
      around: { body in
        unsafe condition_trap_heap_growth(body.function, body.context)
        // The runtime allocates memory for the types until malloc grows the heap, which runs the crash.
        instantiate(Int.self, 16)
      }),
    Condition(
      name: "once-lock", summary: "in the initialiser of a global variable",
      around: { body in
        unsafe lazyBody = body
        _ = lazyGlobal
      }),
    Condition(
      name: "mutex", summary: "with a mutex locked that another thread waits for",
      around: { unsafe condition_holding_mutex($0.function, $0.context) }),
  ]
}

nonisolated(unsafe) private var lazyBody: CrashBody?

private let lazyGlobal: Int = {
  if let body = unsafe lazyBody { unsafe body.function(body.context) }
  return 1
}()

private struct Left<Inner> {
  var inner: Inner
}

private struct Right<Inner> {
  var inner: Inner
}

/// Makes the runtime instantiate 2^levels generic types, which the compiler cannot do in advance.
@inline(never) @_optimize(none)
private func instantiate<T>(_ type: T.Type, _ levels: Int) {
  guard levels > 0 else { return }
  instantiate(Left<T>.self, levels &- 1)
  instantiate(Right<T>.self, levels &- 1)
}
