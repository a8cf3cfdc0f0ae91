internal import CSignalSafe
internal import IntermediateDump

/// Writes facts that can change between launch and crash: for example, the parent, resource usage and the kernel's
/// status text.
///
/// RUNS-DURING-CRASH.
@c(pm_write_process) @_noLocks
func pm_write_process(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.writer.startMap(.process)
  if capture.mayMake(CallBit.proc) {
    let parent = pm_getppid()
    if parent >= 0 { capture.writer.identifier(.parentProcessID, parent) }
    let usage = unsafe capture.writer.beginProperty(.resourceUsage, capacity: 144)
    if let usage = unsafe usage, unsafe pm_getrusage(usage) == 0 {
      capture.writer.finishProperty(count: 144)
    }
  }
  capture.writeStatusText()
  capture.writer.end()
}

extension Capture {
  fileprivate func writeStatusText() {
    let capacity = 16384
    guard let place = unsafe writer.beginProperty(.processStatus, capacity: capacity) else {
      return
    }
    var count = unsafe proc.read(named: "self/status", into: place, capacity: capacity)
    var scanner = unsafe Bytes(place, count: count).text
    // If the main thread has ended, the process's status text lacks the memory sizes. In that case, this thread's
    // status text is appended.
    if count > 0, !scanner.find("VmSize:") {
      unsafe count &+= proc.read(
        named: "thread-self/status", into: place + count, capacity: capacity &- count)
    }
    // If the dump leaves out secrets, it does not contain the names of the main thread and of this thread.
    if installed.isSanitized { unsafe hideValues(of: "Name:", place, count: count) }
    if installed.surroundings.isHidden {
      unsafe hideValues(of: "Uid:", place, count: count)
      unsafe hideValues(of: "Gid:", place, count: count)
      unsafe hideValues(of: "Groups:", place, count: count)
    }
    if count > 0 { writer.finishProperty(count: count) }
  }
}

/// Replaces each byte after the label with "-" in each line such as "Name:\tname".
///
/// The text has two such lines if a second status text was appended.
private func hideValues(of label: StaticString, _ text: UnsafeMutableRawPointer, count: Int) {
  var scanner = unsafe Bytes(text, count: count).text
  while scanner.find(label) {
    var index = scanner.position
    while index < count, unsafe text.loadUnaligned(fromByteOffset: index, as: UInt8.self) != 0x0A {
      unsafe text.storeBytes(of: 0x2D, toByteOffset: index, as: UInt8.self)  // "-"
      index &+= 1
    }
  }
}
