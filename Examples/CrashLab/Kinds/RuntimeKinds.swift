internal import Dispatch
internal import Glibc

// Failures of the Swift runtime's checks.

extension CrashKind {
  static let runtimeKinds: [CrashKind] = [
    CrashKind("fatal-error") { crash_fatal_error() },
    CrashKind("precondition") { crash_precondition(one()) },
    CrashKind("unwrap-nil") { crash_unwrap_nil(one()) },
    CrashKind("index-out-of-range") { crash_index_out_of_range(one()) },
    CrashKind("integer-overflow") { crash_integer_overflow(one()) },
    CrashKind("forced-cast") { crash_forced_cast("text") },
    CrashKind("unowned-after-free") { crash_unowned_after_free() },
    CrashKind("exclusivity") { crash_exclusivity() },
    CrashKind("try-bang") { crash_try_bang() },
    CrashKind("uncaught-error") { try crash_uncaught_error() },
    CrashKind("main-actor") { crash_main_actor() },
    // The crash always happens on a worker thread of Swift concurrency, whatever thread requested it.
    CrashKind("continuation") { crash_continuation() },
    CrashKind("allocation-failure") { crash_allocation_failure(one()) },
    CrashKind("await-chain") { crash_await_chain() },
  ]
}

/// The number 1, which the optimizer cannot compute in advance.
@inline(never) @_optimize(none)
private func one() -> Int { 1 }

private struct VictimError: Error {
  let reason: String
}

@inline(never)
func crash_fatal_error() {
  fatalError(Secrets.message ?? "crash-lab says goodbye")
}

@inline(never)
func crash_precondition(_ value: Int) {
  precondition(value == 2, "crash-lab wants a two")
}

@inline(never)
func crash_unwrap_nil(_ value: Int) {
  let text: String? = value == 2 ? "two" : nil
  print(text!)
}

@inline(never)
func crash_index_out_of_range(_ value: Int) {
  let numbers = Array(repeating: 0, count: value)
  print(numbers[value + 4])
}

@inline(never)
func crash_integer_overflow(_ value: Int) {
  print(Int.max + value)
}

@inline(never)
func crash_forced_cast(_ value: Any) {
  print(value as! Int)
}

@inline(never)
func crash_unowned_after_free() {
  final class Owner {
    let name = "owner"
  }
  final class Holder {
    unowned let owner: Owner
    init(_ owner: Owner) { self.owner = owner }
  }
  @inline(never) @_optimize(none)
  func holder() -> Holder { Holder(Owner()) }
  print(holder().owner.name)
}

@inline(never)
func crash_exclusivity() {
  final class Counter {
    var value = 0
  }
  @inline(never) @_optimize(none)
  func modify(_ value: inout Int, _ body: () -> Void) {
    body()
    value += 1
  }
  let counter = Counter()
  modify(&counter.value) { modify(&counter.value) {} }
}

@inline(never)
func crash_try_bang() {
  try! crash_uncaught_error()
}

@inline(never) @_optimize(none)
func crash_uncaught_error() throws {
  throw VictimError(reason: "nobody catches this")
}

@inline(never)
func crash_main_actor() {
  MainActor.assumeIsolated { stayOnTheStack() }
}

@inline(never)
func crash_continuation() {
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    await withCheckedContinuation { continuation in
      continuation.resume()
      continuation.resume()
    }
    done.signal()
  }
  done.wait()
}

@inline(never)
func crash_allocation_failure(_ value: Int) {
  let block = UnsafeMutableRawPointer.allocate(byteCount: value << 46, alignment: 16)
  unsafe block.storeBytes(of: 1, as: UInt8.self)
  unsafe print(block)
}

@inline(never)
func crash_await_chain() {
  let done = DispatchSemaphore(value: 0)
  Task.detached(name: "crash-lab importer", priority: .utility) {
    print(await awaitOuter(one()))
    done.signal()
  }
  done.wait()
}

// Each function has a different body, so that the optimizer does not merge two of them.

@inline(never)
private func awaitOuter(_ value: Int) async -> Int {
  let result = await Importer().awaitMiddle(value + 1)
  return result * 3
}

private struct Importer {
  @inline(never)
  func awaitMiddle(_ value: Int) async -> Int {
    // May resume on another thread.
    await Task.yield()
    let result = await awaitInner(value + 2, words: ["a", "b"])
    return result - 7
  }
}

@inline(never)
private func awaitInner(_ value: Int, words: [String]) async -> Int {
  crash_null_write()
  await Task.yield()
  return value + words.count
}
