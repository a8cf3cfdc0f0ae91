import CSignalSafe
import CoreFile
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import SwiftRuntime

/// Reads what the threads and tasks of another process wait for, without a dump.
///
/// The threads' system calls are read before the locks, and the process goes on for up to a millisecond between the two,
/// as during a dump that stops no threads.
struct OutsideReader {
  /// The bytes at a futex word that a dump has.
  private static let (bytesBelow, size) = (16 as UInt64, 56)

  private let processID: Int32
  private let threads: [UInt32]
  private let runtime: TaskRuntime?

  /// - Parameter processID: the ID of a process that has all its threads.
  init(_ processID: Int32) throws {
    self.processID = processID
    threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/task")
      .compactMap(UInt32.init)
    let maps = try KernelFile.text("/proc/\(processID)/maps")
    var modules: [ModuleSnapshot] = []
    for mapping in MemoryMapping.mappings(parsing: Array(maps.utf8)[...])
    where mapping.fileOffset == 0 && mapping.path.contains("/libswift_Concurrency.so") {
      var module = ModuleSnapshot(address: mapping.start, size: 0, path: mapping.path)
      module.buildID = (try? ELFFile(path: mapping.path))?.buildID ?? []
      modules.append(module)
    }
    runtime = TaskRuntime(in: modules, SymbolSource()) {
      LiveMemory.word(at: $0.value, of: processID)
    }
  }

  /// The tasks of this moment; nil if they cannot be read.
  func tasks() -> AllTasks? {
    guard let runtime, let memory = LiveMemory(of: processID) else { return nil }
    let limits = TaskSearchLimits(
      bytes: 1 << 30, time: 2_000_000_000, .processor, candidates: 1 << 16)
    return TaskSearch(runtime, in: memory, limits).tasks().grouped(limit: 512, recordLimit: 256)
  }

  /// The threads and their locks, as a dump that stops no threads has them.
  func snapshot() throws -> ProcessSnapshot {
    #if arch(arm64)
      var snapshot = ProcessSnapshot(architecture: .arm64)
    #else
      var snapshot = ProcessSnapshot(architecture: .x86_64)
    #endif
    snapshot.threads = try threads.map { id in
      var thread = ThreadSnapshot(id: id)
      thread.captureMethod = .kernel
      let text = try KernelFile.text("/proc/\(processID)/task/\(id)/syscall")
      thread.systemCall = text.hasPrefix("running") ? nil : text.trimmingCharacters(in: .newlines)
      thread.state = text.hasPrefix("running") ? "R" : "S"
      return thread
    }
    usleep(.random(in: 0...1000))
    snapshot.memory = MemorySnapshot(
      joining: snapshot.threads.compactMap(\.systemCall).compactMap(lock))
    return snapshot
  }

  /// The memory at the first argument of a system call; nil if it is not the address of memory.
  private func lock(_ systemCall: String) -> MemoryRegion? {
    let words = systemCall.split(separator: " ")
    guard words.count > 1, let word = UInt64(words[1].dropFirst(2), radix: 16), word > 0x10000
    else { return nil }
    let start = word &- Self.bytesBelow
    var bytes = [UInt8](repeating: 0, count: Self.size)
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe pm_copy_memory(
        processID, buffer.baseAddress, UnsafeRawPointer(bitPattern: UInt(start)), Self.size)
    }
    return count == Self.size ? MemoryRegion(address: Address(start), bytes: bytes) : nil
  }
}
