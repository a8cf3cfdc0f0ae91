// Uses freed memory in ways that only Swift programs have, with the guard heap linked, and prints what the heap must
// say: `guard-heap-victim KIND [DATABASE]`. With DATABASE, a crash also leaves a dump there.
import CGuardHeap
import Glibc
import PostmortemHandler

/// What a C library holds for a client.
final class Basket {
  var items: [Int]
  let customer: Int
  init(customer: Int) { (items, self.customer) = ([1, 2, 3], customer) }
}

nonisolated(unsafe) var basket: Unmanaged<Basket>?
nonisolated(unsafe) var total = 0

/// Prints the address and the metadata of an object that is about to be freed.
func expect(_ object: Unmanaged<Basket>) {
  let place = unsafe object.toOpaque()
  let metadata = unsafe place.load(as: UInt.self)
  print(
    "expect \(String(UInt(bitPattern: place), radix: 16)) \(String(metadata, radix: 16))")
  fflush(nil)
}

@inline(never) func fillBasket() {
  let made = unsafe Unmanaged.passRetained(Basket(customer: 7))
  unsafe expect(made)
  unsafe basket = made
}

@inline(never) func dropBasket() { unsafe basket?.release() }

/// Reads a field, as a C library's callback does that got the object as its `void *`.
@inline(never) func countItems() {
  unsafe basket?._withUnsafeGuaranteedRef { total &+= $0.items.count }
}

/// Runs a function on a thread of its own, as the timer of a C library does.
func onAnotherThread(
  _ function: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
) {
  var thread = pthread_t()
  guard unsafe pthread_create(&thread, nil, function, nil) == 0 else { return }
  pthread_join(thread, nil)
}

let kinds: [String: () -> Void] = [
  "over-release": {
    fillBasket()
    dropBasket()
    dropBasket()
  },
  "unowned-unsafe": {
    fillBasket()
    dropBasket()
    countItems()
  },
  "callback": {
    withContext("request", "POST /basket") { fillBasket() }
    withContext("request", "DELETE /basket") { dropBasket() }
    unsafe onAnotherThread { _ in
      withContext("timer", "basket-expiry") { countItems() }
      return nil
    }
  },
]

let arguments = CommandLine.arguments
guard (2...3).contains(arguments.count), let kind = kinds[arguments[1]] else {
  print("usage: guard-heap-victim \(kinds.keys.sorted().joined(separator: "|")) [DATABASE]")
  exit(64)
}
if arguments.count == 3 {
  unsafe setFirstChanceHandler(guard_heap_first_chance)
  try startHandler(database: arguments[2], product: "guard-heap-victim", version: "1.0")
} else {
  var action = sigaction()
  action.sa_flags = SA_SIGINFO | Int32(bitPattern: UInt32(SA_RESETHAND))
  unsafe action.__sigaction_handler.sa_sigaction = { signal, information, context in
    _ = unsafe guard_heap_first_chance(signal, information, context)
  }
  unsafe sigaction(SIGSEGV, &action, nil)
}
kind()
print("survived")
