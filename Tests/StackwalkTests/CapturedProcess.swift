import CrashTestSupport
import Glibc
import IntermediateDump
import ProcessSnapshot
import Testing

/// A snapshot of a thread of this process, taken inside a signal handler like the product's.
///
/// The handler copies the context and the stack into preallocated memory; nothing is allocated until it has
/// returned.
enum CapturedProcess {
  struct Buffers {
    /// Addresses of memory that was allocated before the signal.
    var registers: UInt = 0
    var stack: UInt = 0
    var stackEnd: UInt = 0
    var copied = 0
  }

  static let stackCapacity = 256 << 10

  /// Runs `body`, which must raise SIGUSR2 once, on a new thread, and returns the state of the thread in the
  /// handler.
  ///
  /// It needs a new thread, because the workers that run tests block that signal.
  static func capture(
    _ body: @escaping @Sendable () -> Void
  ) throws -> (ProcessSnapshot, ThreadSnapshot) {
    let run = CaptureRun(body)
    runOnNewThread(run)
    let result = try #require(run.result)
    return try result.get()
  }

  private static func runOnNewThread(_ run: CaptureRun) {
    var thread = pthread_t()
    let argument = unsafe Unmanaged.passUnretained(run).toOpaque()
    let status = unsafe pthread_create(&thread, nil, captureThread, argument)
    if status == 0 { pthread_join(thread, nil) }
  }

  fileprivate static func captureHere(_ body: () -> Void) throws -> (
    ProcessSnapshot, ThreadSnapshot
  ) {
    let maps = try KernelFile.text("/proc/self/maps")
    var marker = 0
    let here = unsafe withUnsafeMutablePointer(to: &marker) { UInt(bitPattern: $0) }
    let mappings = parse(maps)
    let own = try #require(mappings.first { $0.range.contains(Address(UInt64(here))) })
    let registers = UnsafeMutableRawPointer.allocate(byteCount: 23 * 8, alignment: 16)
    let stack = UnsafeMutableRawPointer.allocate(byteCount: stackCapacity, alignment: 16)
    defer {
      unsafe registers.deallocate()
      unsafe stack.deallocate()
    }
    unsafe captureBuffers = Buffers(
      registers: UInt(bitPattern: registers), stack: UInt(bitPattern: stack),
      stackEnd: stackEnd(in: own.range))
    var action = sigaction()
    action.sa_flags = SA_SIGINFO
    unsafe action.__sigaction_handler.sa_sigaction = captureHandler
    var previous = sigaction()
    unsafe sigaction(SIGUSR2, &action, &previous)
    body()
    try #require(unsafe captureBuffers.copied > 0, "the signal's handler did not run")
    unsafe sigaction(SIGUSR2, &previous, nil)
    let general = unsafe UnsafeRawBufferPointer(start: registers, count: 23 * 8)
    let values = unsafe Array(general.bindMemory(to: UInt64.self))
    let bytes = unsafe Array(UnsafeRawBufferPointer(start: stack, count: captureBuffers.copied))
    return try snapshot(values, bytes, mappings)
  }

  /// The end of the calling thread's stack within a mapping that it may share with its neighbors (glibc 2.42).
  ///
  /// The end is in the page of the thread control block, whose address is libc's handle of the thread.
  private static func stackEnd(in mapping: AddressRange) -> UInt {
    let end = UInt(mapping.clampedEnd.value)
    let own = UInt(pthread_self())
    return mapping.contains(Address(UInt64(own))) ? min(end, own & ~4095 + 4096) : end
  }

  private static func snapshot(
    _ g: [UInt64], _ stack: [UInt8], _ mappings: [MemoryMapping]
  ) throws -> (ProcessSnapshot, ThreadSnapshot) {
    var context = X86_64Context()
    context.r8 = g[0]
    context.rdi = g[8]
    context.rbp = g[10]
    context.rsp = g[15]
    context.rip = g[16]
    var thread = ThreadSnapshot(id: UInt32(getpid()))
    thread.captureMethod = .crashed
    thread.context = .x86_64(context)
    thread.stack = [MemoryRegion(address: Address(g[15]), bytes: stack)]
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.exception = ExceptionSnapshot(threadID: thread.id)
    snapshot.exception?.context = thread.context
    snapshot.threads = [thread]
    snapshot.mappings = mappings
    snapshot.memory = MemorySnapshot(joining: thread.stack)
    snapshot.modules = try modules(of: mappings)
    return (snapshot, thread)
  }

  /// One module for each mapped ELF file, with the build ID that the tests' own reader finds in the mapped image.
  private static func modules(of mappings: [MemoryMapping]) throws -> [ModuleSnapshot] {
    var modules: [ModuleSnapshot] = []
    for mapping in mappings where mapping.path.hasPrefix("/") {
      if let last = modules.indices.last, modules[last].path == mapping.path {
        modules[last].size = mapping.range.clampedEnd.wrappedDistance(
          above: modules[last].address)
      } else if mapping.fileOffset == 0 {
        let image = try KernelFile.bytes(mapping.path, limit: 64 << 10)
        guard image.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else { continue }
        modules.append(
          ModuleSnapshot(
            address: mapping.start, size: mapping.range.byteCount, path: mapping.path,
            buildID: gnuBuildID(in: image)))
      }
    }
    return modules
  }

  /// Finds the note by its bytes: name size 4, type 3, "GNU".
  private static func gnuBuildID(in image: [UInt8]) -> [UInt8] {
    let pattern: [UInt8] = [3, 0, 0, 0, 0x47, 0x4E, 0x55, 0]
    for start in stride(from: 8, to: image.count - 40, by: 4)
    where image[start..<start + 8].elementsEqual(pattern) && image[start - 8] == 4 {
      return Array(image[start + 8..<start + 8 + Int(image[start - 4])])
    }
    return []
  }

  static func parse(_ maps: String) -> [MemoryMapping] {
    maps.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
      guard fields.count >= 5 else { return nil }
      let range = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
      guard range.count == 2 else { return nil }
      var protection: MemoryMapping.Protection = []
      if fields[1].contains("r") { protection.insert(.read) }
      if fields[1].contains("w") { protection.insert(.write) }
      if fields[1].contains("x") { protection.insert(.execute) }
      return MemoryMapping(
        start: Address(range[0]), end: Address(range[1]), protection: protection,
        fileOffset: UInt64(fields[2], radix: 16) ?? 0,
        path: fields.count > 5 ? String(fields[5].drop { $0 == " " }) : "")
    }
  }
}

/// The input and the results of a capturing thread; the join orders the accesses.
private final class CaptureRun: @unchecked Sendable {
  let body: @Sendable () -> Void
  var result: Result<(ProcessSnapshot, ThreadSnapshot), any Error>?
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func captureThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  let run = unsafe Unmanaged<CaptureRun>.fromOpaque(argument!).takeUnretainedValue()
  var signals = sigset_t()
  unsafe sigemptyset(&signals)
  unsafe sigaddset(&signals, SIGUSR2)
  unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  run.result = Result { try CapturedProcess.captureHere(run.body) }
  return nil
}

/// Global, because only one test captures at a time (`.serialized` suite).
nonisolated(unsafe) var captureBuffers = CapturedProcess.Buffers()

private func captureHandler(
  _ signal: Int32, _ information: UnsafeMutablePointer<siginfo_t>?,
  _ context: UnsafeMutableRawPointer?
) {
  // The gregs are at offset 40 of the ucontext on x86_64.
  guard let context = unsafe context else { return }
  let registers = unsafe UnsafeMutableRawPointer(bitPattern: captureBuffers.registers)!
  unsafe memcpy(registers, context + 40, 23 * 8)
  let stackPointer = unsafe registers.load(fromByteOffset: 15 * 8, as: UInt.self)
  let count = unsafe min(
    Int(captureBuffers.stackEnd) - Int(stackPointer), CapturedProcess.stackCapacity)
  unsafe memcpy(
    UnsafeMutableRawPointer(bitPattern: captureBuffers.stack)!,
    UnsafeRawPointer(bitPattern: stackPointer)!, count)
  unsafe captureBuffers.copied = count
}
