internal import CCrashLab
internal import Glibc
internal import Postmortem
internal import Synchronization

@inline(never)
func dumpFromHere(_ processing: DumpProcessing) throws -> ReportID {
  let reportID = try dumpWithoutCrash(processing: processing)
  // Keeps this frame on the stack: the call is not the last thing that is done.
  say("dumped")
  return reportID
}

private let interrupted = Atomic<Int>(0)
private let waiting = Atomic<Int>(0)
private let isOver = Atomic<Bool>(false)

/// Threads in calls that a signal would end, and a busy one; counts those that were.
func dumpServer(stopsThreads: Bool) throws {
  var pipe: (Int32, Int32) = (0, 0)
  _ = unsafe withUnsafeMutablePointer(to: &pipe) { pointer in
    unsafe pointer.withMemoryRebound(to: Int32.self, capacity: 2) { unsafe Glibc.pipe($0) }
  }
  let input = pipe.0
  for _ in 0..<4 {
    startThread {
      waiting.add(1, ordering: .relaxed)
      while !isOver.load(ordering: .relaxed) {
        var time = timespec(tv_sec: 600, tv_nsec: 0)
        if unsafe nanosleep(&time, nil) != 0, errno == EINTR {
          interrupted.add(1, ordering: .relaxed)
        }
      }
    }
    startThread {
      waiting.add(1, ordering: .relaxed)
      while !isOver.load(ordering: .relaxed) {
        var descriptor = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        if unsafe poll(&descriptor, 1, 600_000) < 0, errno == EINTR {
          interrupted.add(1, ordering: .relaxed)
        }
      }
    }
  }
  startThread { spin() }
  while waiting.load(ordering: .relaxed) < 8 { usleep(1000) }
  while blockedThreads() < 8 { usleep(1000) }
  for _ in 0..<3 { say(try dumpWithoutCrash(processing: .deferred, stopsThreads: stopsThreads)) }
  if stopsThreads {
    // Until the threads have run again.
    while interrupted.load(ordering: .relaxed) < 8 { usleep(1000) }
  }
  say("interrupted \(interrupted.load(ordering: .relaxed))")
}

@inline(never)
func spin() {
  var value: UInt64 = 1
  while !isOver.load(ordering: .relaxed) { value = value &* 6_364_136_223_846_793_005 &+ 1 }
  say(value)
}

/// Threads that the kernel says are in a system call, this one not counted.
private func blockedThreads() -> Int {
  guard let folder = unsafe opendir("/proc/self/task") else { return 0 }
  defer { unsafe closedir(folder) }
  var count = 0
  while let entry = unsafe readdir(folder) {
    let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    guard let file = unsafe fopen("/proc/self/task/\(name)/syscall", "r") else { continue }
    defer { unsafe fclose(file) }
    let first = unsafe fgetc(file)
    if first >= 0x30, first <= 0x39 { count += 1 }
  }
  return count - 1
}

/// So many threads, each with one dump, all at once.
func dumpFromManyThreads(_ count: Int) {
  let ready = Atomic<Int>(0)
  let threads = (0..<count).map { _ in
    startThread {
      ready.add(1, ordering: .relaxed)
      while ready.load(ordering: .relaxed) < count { sched_yield() }
      do {
        say(try dumpWithoutCrash(processing: .deferred))
      } catch {
        say("failed: \(error)")
      }
    }
  }
  for thread in threads { pthread_join(thread, nil) }
}

/// Eight threads that dump without end, and a crash once each has.
func crashWhileDumping(stopsThreads: Bool) -> Never {
  let counts = (0..<8).map { _ in Counter() }
  for counter in counts {
    startThread {
      while true {
        do {
          try dumpWithoutCrash(processing: .deferred, stopsThreads: stopsThreads)
          counter.value.add(1, ordering: .relaxed)
        } catch {
          say("failed: \(error)")
          exit(71)
        }
      }
    }
  }
  while counts.contains(where: { $0.value.load(ordering: .relaxed) < 1 }) { usleep(1000) }
  say("crashing")
  unsafe UnsafeMutablePointer<Int>(bitPattern: 0x10)?.pointee = 1
  exit(72)
}

final class Counter: Sendable {
  let value = Atomic<Int>(0)
}

/// A mapped file that was cut, and a kernel without process_vm_readv: reading the module list faults then.
func prepareFaults() {
  let path = "/tmp/live-dump-victim-\(getpid())"
  let file = unsafe open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
  guard file >= 0 else { fail("no file") }
  ftruncate(file, 8192)
  let mapping = unsafe mmap(nil, 8192, PROT_READ, MAP_SHARED, file, 0)
  guard unsafe mapping != MAP_FAILED else { fail("no mapping") }
  ftruncate(file, 0)
  unsafe unlink(path)
  guard crashlab_deny_memory_copies() == 0 else { fail("no filter") }
}

@discardableResult
func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
  var thread = pthread_t()
  let box = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
  let failure = unsafe pthread_create(
    &thread, nil,
    { pointer in
      if let pointer = unsafe pointer {
        unsafe Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run()
      }
      return nil
    }, box)
  if failure != 0 { fail("no thread") }
  return thread
}

private final class Body: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
