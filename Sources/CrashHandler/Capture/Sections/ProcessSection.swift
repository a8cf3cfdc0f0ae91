internal import CSignalSafe
internal import IntermediateDump

/// Writes what changes until the crash: parent, CPU time, the kernel's status text.
///
/// - Parameters:
///   - hidesName: whether the main thread's name in that text is replaced.
///   - hidesUser: the same of the numbers of users and groups.
///
/// RUNS-DURING-CRASH.
@_noLocks
func writeProcess(
  _ calls: CrashCalls, proc: ProcReader, hidesName: Bool, hidesUser: Bool, to output: DumpOutput
) {
  output.startMap(.process)
  if calls.mayMake(CallBit.proc) {
    let parent = pm_getppid()
    if parent >= 0 { output.identifier(.parentProcessID, parent) }
    var times = pm_processor_times()
    if unsafe pm_getrusage(&times) == 0 {
      output.unsigned(.userTime, times.user)
      output.unsigned(.systemTime, times.system)
    }
  }
  let capacity = 16384
  if let place = unsafe output.beginProperty(.processStatus, capacity: capacity) {
    var count = unsafe proc.read(named: "self/status", into: place, capacity: capacity)
    var scanner = unsafe TextScanner(place, count: count)
    // The first thread has ended: this one tells of the memory, behind what is the process's.
    if count > 0, !scanner.find("VmSize:") {
      unsafe count &+= proc.read(
        named: "thread-self/status", into: place + count, capacity: capacity &- count)
    }
    if hidesName { unsafe hideValues(of: "Name:", place, count: count) }
    if hidesUser {
      unsafe hideValues(of: "Uid:", place, count: count)
      unsafe hideValues(of: "Gid:", place, count: count)
      unsafe hideValues(of: "Groups:", place, count: count)
    }
    if count > 0 { output.finishProperty(count: count) }
  }
  output.end()
}

/// Replaces what stands in the line of a label, such as "Name:\tname".
@_noLocks
private func hideValues(of label: StaticString, _ text: UnsafeMutableRawPointer, count: Int) {
  var scanner = unsafe TextScanner(text, count: count)
  guard scanner.find(label) else { return }
  var index = scanner.position
  while index < count, unsafe text.loadUnaligned(fromByteOffset: index, as: UInt8.self) != 0x0A {
    unsafe text.storeBytes(of: 0x2D, toByteOffset: index, as: UInt8.self)  // "-"
    index &+= 1
  }
}

/// Writes the time of the crash and of the process's start, in a map of its own at the dump's beginning: a torn dump has it too.
///
/// RUNS-DURING-CRASH.
@_noLocks
func writeCrashTime(_ calls: CrashCalls, processStart: UInt64, to output: DumpOutput) {
  guard calls.mayMake(CallBit.proc) else { return }
  let time = pm_wall_clock()
  let uptime = pm_boot_clock()
  output.startMap(.process)
  if time != 0 { output.signed(.crashTime, Int64(bitPattern: time)) }
  if uptime != 0 { output.unsigned(.crashUptime, uptime) }
  if processStart != 0 { output.unsigned(.processStart, processStart) }
  output.end()
}
