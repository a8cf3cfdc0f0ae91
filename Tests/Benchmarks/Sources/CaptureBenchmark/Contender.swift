import Foundation

/// Who takes the crash.
enum Contender: String, CaseIterable {
  /// No code of ours: this is the time that the kernel needs to end the process.
  case none
  /// This package.
  case postmortem
  /// The same, which leaves secrets out of its dumps.
  case sanitized
  /// This package, with pointers to objects of own types all over the innermost stack.
  case objects
  /// The least work in plain C, without a crash: see CLimit.
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
  /// Why this machine cannot measure it; nil if it can.
  var obstacle: String? {
    guard self == .core else { return nil }
    let pattern = try? String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8)
    guard let pattern, pattern.hasPrefix("core") else {
      return "kernel.core_pattern names no file in the working directory"
    }
    return nil
  }
}

/// What one crash cost.
struct Measurement {
  /// From the instant before the fault until the process was reaped, in microseconds; nil for the limit.
  var untilReaped: Double?
  /// The duration of the capture itself in microseconds; nil if it is not reported.
  var capture: Double?
  /// Bytes of the dump, the core file or the text.
  var bytes: Int64
}
