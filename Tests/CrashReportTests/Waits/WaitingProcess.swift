import IntermediateDump
import ProcessSnapshot
import Stackwalk

@testable import CrashAnalysis
@testable import CrashReport

/// A process whose threads wait, with the memory of the locks for which they wait.
struct WaitingProcess {
  private(set) var snapshot = ProcessSnapshot(architecture: .x86_64)
  private var frames: [[StackFrame]] = []
  private var regions: [MemoryRegion] = []

  init() {
    snapshot.modules = ["/srv/shop", "/usr/lib/libc.so.6"].enumerated().map {
      ModuleSnapshot(address: Address(UInt64($0) << 20), size: 1 << 20, path: $1)
    }
  }

  /// Adds a waiting thread: its own function has called the given functions of a library, innermost first.
  mutating func wait(
    _ id: UInt32, at word: UInt64, _ functions: String?..., operation: Int = 128,
    hasLimit: Bool = false
  ) {
    var thread = ThreadSnapshot(id: id)
    thread.state = "S"
    thread.systemCall =
      "202 0x\(String(word, radix: 16)) 0x\(String(operation, radix: 16)) 0x2 \(hasLimit ? "0x7f0010" : "0x0") 0x0 0x0 "
      + "0x7f0000 0x400000"
    add(thread, functions.map { StackFrame($0, module: 1) } + [own(id)])
  }

  /// Adds a running thread.
  mutating func run(_ id: UInt32, threadPointer: UInt64? = nil) {
    var thread = ThreadSnapshot(id: id)
    thread.state = "R"
    thread.threadPointer = threadPointer.map { Address($0) }
    add(thread, [own(id)])
  }

  private func own(_ id: UInt32) -> StackFrame {
    StackFrame(
      "Shop.serve\(id)() -> ()",
      line: SourceLocation(file: "/src/Shop/Shop.swift", line: Int(id)))
  }

  mutating func add(_ thread: ThreadSnapshot, _ frames: [StackFrame]) {
    snapshot.threads.append(thread)
    self.frames.append(frames)
  }

  mutating func put(_ words: [UInt32], at address: UInt64) {
    let bytes = words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    regions.append(MemoryRegion(address: Address(address), bytes: bytes))
    snapshot.memory = MemorySnapshot(joining: regions)
  }

  mutating func put(_ text: String, at address: UInt64) {
    regions.append(MemoryRegion(address: Address(address), bytes: Array(text.utf8) + [0]))
    snapshot.memory = MemorySnapshot(joining: regions)
  }

  /// Adds a `pthread_mutex_t` of the default kind for which threads wait.
  mutating func putMutex(at address: UInt64, owner: UInt32, lock: UInt32 = 2, kind: UInt32 = 0) {
    put([lock, 0, owner, 1, kind, 0, 0, 0, 0, 0], at: address)
  }

  /// Adds the C library's control block of each thread, with the ID that the process itself uses for the thread.
  mutating func putBlocks(ownID: (UInt32) -> UInt32) {
    let start: UInt32 = 0x70_0000
    let links = snapshot.threads.indices.map { start + UInt32($0) * 0x1000 + 704 }
    for (index, thread) in snapshot.threads.enumerated() {
      snapshot.threads[index].threadPointer = Address(UInt64(links[index] - 704))
      let next = links[(index + 1) % links.count]
      let previous = links[(index + links.count - 1) % links.count]
      put([next, 0, previous, 0, ownID(thread.id), 0], at: UInt64(links[index]))
    }
  }

  mutating func setStatus(_ text: String) { snapshot.process.statusText = Array(text.utf8) }

  /// Makes it a process whose dump contains all threads.
  mutating func setComplete() { snapshot.capture.isComplete = true }

  mutating func omitThread() { snapshot.capture.threadsOmitted = 1 }

  /// Adds a mapping with 4 KiB of memory.
  mutating func map(_ address: UInt64, isPrivate: Bool) {
    snapshot.mappings.append(
      MemoryMapping(
        start: Address(address), end: Address(address + 0x1000), protection: [.read, .write],
        isPrivate: isPrivate))
  }

  mutating func setState(_ state: Character, systemCall: String? = nil, of id: UInt32) {
    for index in snapshot.threads.indices where snapshot.threads[index].id == id {
      snapshot.threads[index].state = state
      snapshot.threads[index].systemCall = systemCall
    }
  }

  /// Adds an open file, and the process that holds the lock of the file for which a thread waits.
  mutating func lock(
    _ path: String, descriptor: UInt32, kind: DescriptorKind = .file, _ wait: FileLockWait?
  ) {
    var file = OpenDescriptor()
    (file.number, file.kind, file.path) = (descriptor, kind, path)
    snapshot.process.descriptors.append(file)
    if let wait { snapshot.fileLocks.append(wait) }
  }

  mutating func setStackPointer(_ address: UInt64, of id: UInt32) {
    for index in snapshot.threads.indices where snapshot.threads[index].id == id {
      snapshot.threads[index].stackPointer = Address(address)
    }
  }

  /// Adds an outer call to the last thread, whose frame contains a word.
  mutating func call(_ function: String, with word: UInt32) {
    var (call, caller) = (
      StackFrame(function, line: SourceLocation(file: "/src/Shop/Lock.swift", line: 1)),
      StackFrame("Shop.start() -> ()", line: SourceLocation(file: "/src/Shop/Shop.swift", line: 1))
    )
    (call.stackPointer, caller.stackPointer) = (0x8000, 0x8010)
    frames[frames.count - 1] += [call, caller]
    put([0, 0, word, 0], at: 0x8000)
  }

  /// Sets the ID of the process, and so of its main thread.
  mutating func setProcessID(_ id: UInt32) { snapshot.process.processID = id }

  /// Makes it a process whose threads the dump does not stop.
  mutating func stopNone() {
    for index in snapshot.threads.indices { snapshot.threads[index].captureMethod = .kernel }
  }

  var waits: Waits {
    let threads = zip(snapshot.threads, frames).map { ($0, $1) }
    return Waits(in: snapshot, threads, OwnCode(of: snapshot, frames: frames.flatMap { $0 }))
  }

  /// The report of a hang of the first thread.
  func report(kind: DumpRequest.Kind = .hang) -> CrashReport {
    var snapshot = snapshot
    var request = DumpRequest()
    (request.kind, request.threadEvidence) = (kind, .known)
    (request.hangTime, request.threshold) = (2_000_000_000, 1_000_000_000)
    snapshot.request = request
    snapshot.exception = snapshot.threads.first.map { ExceptionSnapshot(threadID: $0.id) }
    return report(of: snapshot)
  }

  /// The report of a crash of the first thread by a trap.
  func crash(_ message: String?) -> CrashReport {
    var snapshot = snapshot
    var exception = ExceptionSnapshot(threadID: snapshot.threads.first?.id ?? 0)
    (exception.signal, exception.code, exception.fatalMessage) = (4, 2, message)
    snapshot.exception = exception
    return report(of: snapshot)
  }

  private func report(of snapshot: ProcessSnapshot) -> CrashReport {
    let symbols = SymbolSource(directories: [], stored: nil, readsFiles: false)
    let known = zip(snapshot.threads, frames).map { ($0.id, StackTrace($1)) }
    return CrashReport(
      of: ProcessStacks(
        of: snapshot, symbols: symbols,
        known: Dictionary(known, uniquingKeysWith: { first, _ in first })))
  }
}

extension LockWords.Owner {
  init(_ id: UInt32?, _ hasWaiter: Bool) { self.init(id: id, hasWaiter: hasWaiter) }
}
