internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk
internal import SwiftRuntime

/// The Swift concurrency tasks that the threads were running, found in the runtime's thread-local variable.
///
/// The runtime's thread-local block contains the address of the task, and the task begins with the same word as all
/// task objects. The handler finds tasks by the same rule (`TaskFinder` in CrashHandler).
///
/// Source: swift stdlib/public/Concurrency/Actor.cpp, class ActiveTask.
struct CoreTasks {
  private static let maximumTasks = 256
  private static let maximumBlockSize: UInt64 = 4096
  private static let names = [TaskRuntime.metadataName, TaskRuntime.layoutName]

  private let snapshot: ProcessSnapshot
  private let symbols: SymbolSource

  init(of snapshot: ProcessSnapshot, _ symbols: SymbolSource) {
    (self.snapshot, self.symbols) = (snapshot, symbols)
  }

  /// The tasks that the threads ran, in the order of the threads.
  var all: [TaskSnapshot] {
    for module in snapshot.modules.linking([TaskRuntime.library]) {
      let found = symbols.addresses(of: Self.names, in: module)
      guard let place = found[Self.names[0]], let metadata = snapshot.memory.word(at: place),
        metadata != 0,
        let block = ThreadLocals(snapshot: snapshot, symbols: symbols).block(of: module)
      else { continue }
      let version = found[Self.names[1]].flatMap { snapshot.memory.word(at: $0) }
      return tasks(
        in: block, metadata, layoutVersion: UInt32(truncatingIfNeeded: version ?? 0))
    }
    return []
  }

  private func tasks(
    in block: ThreadLocals.Block, _ metadata: UInt64, layoutVersion: UInt32
  ) -> [TaskSnapshot] {
    var tasks: [TaskSnapshot] = []
    let size = min(block.size, Self.maximumBlockSize)
    for thread in snapshot.threads where tasks.count < Self.maximumTasks {
      guard let pointer = thread.threadPointer else { continue }
      let start = pointer &+ block.offset
      let found = stride(from: 0, to: size, by: 8).lazy
        .compactMap { snapshot.memory.word(at: start &+ $0) }
        .first { word in
          word >= 0x10000 && word & 15 == 0 && snapshot.memory.word(at: Address(word)) == metadata
        }
      guard let found else { continue }
      tasks.append(
        TaskSnapshot(
          threadID: thread.id, address: Address(found), layoutVersion: layoutVersion))
    }
    return tasks
  }
}
