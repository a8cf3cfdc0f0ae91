internal import CSignalSafe

extension Shared.Backtracer {
  /// Finds out for which signals it is the handler that was there before.
  ///
  /// Ordinary code.
  init(_ signals: CrashSignals) {
    var (code, size) = (UInt64(0), UInt64(0))
    unsafe pm_find_code(signals.backtracer, &code, &size)
    self.init(signals: signals.ofBacktracer, code: code, codeSize: size)
  }
}
