internal import CSignalSafe
internal import Glibc

extension LastWords {
  /// Decides for which signals a block is written, and allocates what it needs.
  ///
  /// Ordinary code. Not for a signal that Swift's backtracer prints for: it is then the previous
  /// handler, and two stacks on standard error are one too many. For none where descriptor 2 was
  /// closed.
  static func prepare(
    options: HandlerOptions, facts: LaunchFacts, signals: CrashSignals, hasStandardError: Bool,
    memory: inout HandlerMemory
  ) throws(CrashHandlerError) -> LastWords {
    unsafe LastWords(
      signals: options.writesLastWords && hasStandardError ? signals.withoutBacktracer : 0,
      standardError: FileIdentity(of: STDERR_FILENO),
      product: try memory.text(facts.product ?? ""),
      version: try memory.text(facts.version ?? ""),
      memory: try memory.pages(LastWords.byteCount))
  }
}
