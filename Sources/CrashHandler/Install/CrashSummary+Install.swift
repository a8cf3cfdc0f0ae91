internal import CSignalSafe
internal import Glibc

extension CrashSummary {
  /// Decides for which signals a summary is written, and allocates what it needs.
  ///
  /// Ordinary code. For none where descriptor 2 was closed, and in a program with more rights than
  /// whoever started it: what that one reads there must not tell where its memory and files lie.
  static func prepare(
    options: HandlerOptions, facts: LaunchFacts, signals: CrashSignals, hasStandardError: Bool,
    memory: inout HandlerMemory
  ) throws(CrashHandlerError) -> CrashSummary {
    unsafe CrashSummary(
      signals: options.writesSummary && hasStandardError && pm_is_secure() == 0
        ? signals.mask : 0,
      standardError: HeldFile(STDERR_FILENO),
      product: try memory.ownBytes(facts.product), version: try memory.ownBytes(facts.version),
      memory: Scratch(try memory.pages(CrashSummary.byteCount), size: CrashSummary.byteCount))
  }
}
