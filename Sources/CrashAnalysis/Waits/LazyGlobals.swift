internal import ProcessSnapshot
internal import Stackwalk

/// The global variables that threads are initializing, from the names of the functions on the stacks.
///
/// The memory of a lazy initialization does not contain the thread that performs it. But the functions that the compiler
/// generates have the variable's name: a thread that waits is in the addressor of the variable, and the thread for
/// which it waits is in the variable's initializer.
///
/// Source: Swift docs/ABI/Mangling.rst, `WZ` and `vau`.
///
/// The same holds for a static variable of a C++ function: the thread that waits, and the thread for which it waits, are in
/// that function.
struct LazyGlobals {
  private let threads: [(thread: ThreadSnapshot, frames: [StackFrame])]
  private let initializing: [(variable: Substring, threadID: UInt32)]

  /// - Parameter threads: the threads, each with its frames, innermost first.
  init(_ threads: [(thread: ThreadSnapshot, frames: [StackFrame])]) {
    self.threads = threads
    initializing = threads.flatMap { thread, frames in
      frames.compactMap { frame in
        guard let name = frame.linkageName, name.hasSuffix("_WZ") else { return nil }
        return (name.dropLast(3), thread.id)
      }
    }
  }

  /// The thread that initializes the variable for which a thread waits; nil if it is not known.
  func owner(for frames: [StackFrame]) -> UInt32? {
    let addressor = frames.lazy.compactMap(\.linkageName).first { $0.hasPrefix("$s") }
    guard let addressor, addressor.hasSuffix("vau") else { return nil }
    return initializing.first { addressor.hasPrefix($0.variable) }?.threadID
  }

  /// The thread that most likely initializes the static variable for which a thread of C++ waits; nil if it is not known.
  ///
  /// Such a thread is in a call of the same function that has called something other than the wait.
  func likelyOwner(for frames: [StackFrame]) -> UInt32? {
    guard let guardIndex = frames.prefix(4).firstIndex(where: { $0.linkageName == Self.wait }),
      let function = frames.dropFirst(guardIndex + 1).first?.linkageName
    else { return nil }
    let owners = threads.filter { _, frames in
      zip(frames, frames.dropFirst()).contains {
        $1.linkageName == function && $0.linkageName != Self.wait
      }
    }
    return owners.count == 1 ? owners[0].thread.id : nil
  }

  private static let wait = "__cxa_guard_acquire"
}
