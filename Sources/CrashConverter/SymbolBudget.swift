internal import Glibc
internal import ProcessSnapshot
internal import Stackwalk

/// The time that one call may spend on names and lines, over all its dumps.
///
/// Hundreds of dumps may wait at a start, and a module's debug file is read anew for each. What
/// comes after the time is over is stored without names; `show` still finds them where the build is
/// at hand.
final class SymbolBudget {
  /// In seconds.
  private static let limitOfReport = 2.0
  private var rest = 4.0
  /// The files of the last dump's modules; nil if no time was left for it.
  private(set) var source: SymbolSource?

  /// Names the crashing thread's functions, as far as time is left.
  func gather(for snapshot: ProcessSnapshot) -> StoredSymbols? {
    source = nil
    guard rest > 0 else { return nil }
    let start = Self.now
    defer { rest -= Self.now - start }
    let source = SymbolSource(timeLimit: min(Self.limitOfReport, rest))
    self.source = source
    return StoredSymbols.gather(for: snapshot, from: source)
  }

  /// Seconds of the monotonic clock.
  private static var now: Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
