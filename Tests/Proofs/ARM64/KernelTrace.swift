import Foundation

/// The system calls and signals of a crash on the emulated machine, as its kernel's tracefs lists them.
///
/// strace cannot be used there: under it, a call takes longer than the interval of the handler's timer.
struct KernelTrace {
  let events: [CountedCrash.Event]

  /// - Parameter names: the names of system calls, by number.
  init(_ text: String, names: [Int: String]) {
    events = text.split(separator: "\n").compactMap { Self.event($0, names) }
  }

  /// The names of the system calls in a machine's headers.
  static func names(root: String) throws -> [Int: String] {
    let header = root + "/usr/include/aarch64-linux-gnu/asm/unistd_64.h"
    let text = try String(contentsOfFile: header, encoding: .utf8)
    let found = text.matches(of: /(?m)^#define __NR_(\w+) (\d+)$/)
    return Dictionary(
      found.compactMap { match in Int(match.2).map { ($0, String(match.1)) } },
      uniquingKeysWith: { first, _ in first })
  }

  /// Parses a line such as `crash-lab-107 [001] ..... 9.06: sys_enter: NR 134 (b, ffff81366820, 0, 8, 0, 0)`.
  private static func event(_ line: Substring, _ names: [Int: String]) -> CountedCrash.Event? {
    guard
      let match = line.firstMatch(
        of: /-(\d+) +\[\d+\] .*?: (sys_enter|signal_deliver): (.*)/)
    else { return nil }
    if match.2 == "signal_deliver" {
      // SI_TIMER: a tick of the handler's timer.
      if match.3.contains(" code=-2 ") { return .tick(thread: match.1) }
      return match.3.hasPrefix("sig=11 ") ? .fault : nil
    }
    guard let call = match.3.prefixMatch(of: /NR (-?\d+) \((.*)\)/), let number = Int(call.1)
    else { return nil }
    let arguments = call.2.split(separator: ", ")
    let name = names[number] ?? "\(number)"
    switch name {
    // Signal 0 checks whether a thread that has not answered for 10 ms still exists; how often depends on time.
    case "tgkill" where arguments.dropFirst(2).first == "0": return nil
    // libc's pause() sleeps in this call.
    case "ppoll" where arguments.first == "0": return nil
    // F_GETFL.
    case "fcntl" where arguments.dropFirst().first == "3": return .call("F_GETFL", thread: match.1)
    default: return .call(name, thread: match.1)
    }
  }
}
