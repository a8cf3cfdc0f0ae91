/// A failed check of Swift in optimised code, which leaves no message.
///
/// The compiler names it by a function without code of its own that it puts around the trap in the
/// debug information. Source: swift/lib/IRGen/IRGenDebugInfo.cpp, `addFailureMessageToCurrentLoc`.
enum RuntimeFailure {
  static let prefix = "Swift runtime failure: "

  /// What the check found, where the innermost frame is such a function.
  static func message(of frames: [CrashReport.Frame]) -> String? {
    guard let frame = frames.first, frame.inlined == true, let function = frame.function,
      function.hasPrefix(prefix)
    else { return nil }
    return String(function.dropFirst(prefix.count))
  }
}
