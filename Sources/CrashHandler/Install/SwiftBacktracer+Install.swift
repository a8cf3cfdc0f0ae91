internal import CSignalSafe

extension SwiftBacktracer {
  /// Finds out for which signals it is the handler that was there before, and what is needed to know
  /// when it ends the process.
  ///
  /// Ordinary code.
  static func prepare(_ state: UnsafeMutablePointer<HandlerState>, signals: CrashSignals) {
    unsafe state.pointee.backtracerSignals = signals.ofBacktracer
    let handler = signals.backtracer
    unsafe pm_find_code(
      handler, &state.pointee.backtracerCode, &state.pointee.backtracerCodeSize)
    unsafe pm_find_abort(&state.pointee.abortStart, &state.pointee.abortSize)
    // Kernels before 5.14 do not tell; the largest frame that they know, with AVX-512, has 3.5 KiB.
    unsafe state.pointee.signalFrameSize = max(pm_minimum_signal_stack_size(), 4096)
  }
}
