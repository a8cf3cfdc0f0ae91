/// Who takes the crash.
enum Contender: String, CaseIterable {
  /// Nobody: what the kernel needs to end the process.
  case none
  /// This package.
  case postmortem
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

/// What one crash cost.
struct Measurement {
  /// From the instant before the fault until the process was reaped, in microseconds; nil for the limit.
  var untilReaped: Double?
  /// What the capture itself took, in microseconds; nil where nobody tells.
  var capture: Double?
  /// Bytes on disk.
  var bytes: Int64
}
