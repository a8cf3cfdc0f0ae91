internal import CCrashLab
internal import Glibc

/// The programs of the truth table that crash by a fault, a trap or a failed check.
///
/// The number of a program is its number in the table. The parts of C and C++ are in `C/truth.c` and `C/cxx.cpp`.
enum FaultScenes {
  static let all = single.merging(reraising) { one, _ in one }

  private static let single: [String: @Sendable () -> Void] = [
    "47": { crash_copy_name(false) }, "47-short": { crash_copy_name(true) },
    "48": { say("\(descend(Tree.depth))") },
    "49": { crash_write_register() },
    "49-heap": { crash_read_table(crashlab_far_index()) },
    "49-low": { crash_read_table_at(0x28) },
    "50": { crash_import_in_background() },
    "52": { crash_reload_in_handler() },
    "54-orders": { Orders().ship(number()) },
    "54-stock": { Stock().reserve(number()) },
    "55-fetch": { Gateway.drain { $0.fetch() } },
    "55-store": { Gateway.drain { $0.store() } },
  ]

  /// 51: a handler gets the fault first and raises it again, in several ways, with or without an alternate stack.
  private static var reraising: [String: @Sendable () -> Void] {
    var scenes: [String: @Sendable () -> Void] = [:]
    for way in ["raise", "pending", "kill", "queue", "call"] {
      for stack in ["own", "alternate"] {
        scenes["51-\(way)-\(stack)"] = {
          unsafe crashlab_handle_first(way, stack == "alternate")
          crash_serve_request()
        }
      }
    }
    return scenes
  }

  /// The number 1, which the optimizer cannot compute in advance.
  @inline(never) @_optimize(none)
  private static func number() -> Int { 1 }

  /// 48: a recursion of known depth.
  @inline(never)
  private static func descend(_ depth: Int) -> Int {
    if depth == 1 { crash_at_leaf() }
    return depth == 0 ? 0 : descend(depth - 1) &+ depth
  }

  @inline(never)
  private static func crash_at_leaf() {
    unsafe place(at: 0x18, of: Int.self).pointee = 1
  }
}

private enum Tree {
  static let depth = 29_100
}

/// 54: two traps of one server.
private struct Orders {
  private let lines = ["tea", "coffee"]

  @inline(never)
  func ship(_ number: Int) { say(lines[number + 7]) }
}

private struct Stock {
  @inline(never)
  func reserve(_ number: Int) {
    let left: Int? = number == 1 ? nil : number
    say("\(left!)")
  }
}

/// 55: a promise that is never kept, which two functions make.
private final class Promise {
  private let file: StaticString
  private let line: UInt

  init(file: StaticString = #fileID, line: UInt = #line) { (self.file, self.line) = (file, line) }

  deinit {
    fatalError(
      "leaking promise created at (file: \"\(file)\", line: \(line))", file: file, line: line)
  }
}

private struct Gateway {
  @inline(never)
  func fetch() { unsafe leaked.append(Promise()) }

  @inline(never)
  func store() { unsafe leaked.append(Promise()) }

  /// Ends the promises far from where they were made.
  static func drain(after work: (Gateway) -> Void) {
    work(Gateway())
    crashlab_on_loop { unsafe leaked = [] }
  }
}

nonisolated(unsafe) private var leaked: [Promise] = []
