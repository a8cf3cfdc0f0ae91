internal import IntermediateDump

/// Properties of a capture that several sections use.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// True if the thread that the dump is about also takes the dump; false for a hang.
  var capturesItself: Bool { @_noLocks get { !session.request.isHang } }

  /// The sanitizer that replaces secrets in memory and registers; nil if the dump keeps everything.
  var sanitizer: WordSanitizer? {
    @_noLocks get { installed.isSanitized ? WordSanitizer(session.mappings) : nil }
  }

  var threads: ThreadWriter { @_noLocks get { ThreadWriter(self) } }
}
