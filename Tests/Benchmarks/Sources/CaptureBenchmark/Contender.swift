import Foundation

/// The program that handles the crash.
enum Contender: String, CaseIterable {
  /// No code of ours: this is the time that the kernel needs to end the process.
  case none
  /// This package.
  case postmortem
  /// This package with sanitizing, which leaves secrets out of the dump.
  case sanitized
  /// This package, with pointers to objects of the program's own types all over the innermost stack.
  case objects
  /// The minimal work in plain C, without a crash; see CLimit.
  case limit
  /// The kernel's core file.
  case core
  /// Swift's own backtracer.
  case backtracer

  /// The value of SWIFT_BACKTRACE for the victim.
  var backtraceSetting: String {
    self == .backtracer ? "enable=yes,color=no,interactive=no,timeout=0s" : "enable=no"
  }
}

extension Contender {
  /// The reason why this machine cannot measure the contender; nil if it can.
  var obstacle: String? {
    guard self == .core else { return nil }
    let pattern = try? String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8)
    guard let pattern, pattern.hasPrefix("core") else {
      return "kernel.core_pattern names no file in the working directory"
    }
    return nil
  }
}

/// The cost of one crash.
struct Measurement {
  /// The time from directly before the fault until the process was reaped, in microseconds; nil for the limit.
  var untilReaped: Double?
  /// The duration of the capture itself in microseconds; nil if it is not reported.
  var capture: Double?
  /// The size of the dump, the core file or the text, in bytes.
  var bytes: Int64
}
