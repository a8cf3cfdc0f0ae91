internal import ProcessSnapshot

/// Groups crashes of one cause under one line of text.
///
/// The signal, then the short names of the innermost frames of the program's own code. No
/// addresses, which change with every run, and no offsets, which change with every build. The rules
/// are in `Docs/Reports.md`.
enum Signature {
  private static let frameCount = 3

  static func text(
    exception: ExceptionSnapshot?, frames: [CrashReport.Frame], modules: [ModuleSnapshot],
    request: DumpRequest? = nil
  ) -> String? {
    guard let name = kind(of: exception, request) else { return nil }
    let systemNames = Set(modules.filter { isSystem(path: $0.path) }.map(\.name))
    let named = frames.filter { $0.function != nil }
    let own = named.filter { frame in
      guard let module = frame.module, let function = frame.function else { return false }
      return !systemNames.contains(module) && !isRuntime(FunctionName.short(function))
    }
    var parts: [String] = []
    for frame in own.isEmpty ? named : own {
      let part = FunctionName.short(frame.function ?? "")
      // A recursion counts once, however deep it was.
      if part != parts.last { parts.append(part) }
      if parts.count == frameCount { break }
    }
    if parts.isEmpty {
      // Without names the module is all that stays the same from build to build.
      guard let module = frames.first?.module else { return name }
      return "\(name) | \(module)"
    }
    return ([name] + parts).joined(separator: " | ")
  }

  /// The signal; "hang" or "dump" where there was none.
  ///
  /// Nil where it was lost.
  private static func kind(of exception: ExceptionSnapshot?, _ request: DumpRequest?) -> String? {
    if let request { return request.kind == .hang ? "hang" : "dump" }
    guard let signal = exception?.signal else { return nil }
    return SignalNames.name(signal) ?? "signal \(signal)"
  }

  /// Modules that come with the system or with Swift, by where they lie or by name.
  static func isSystem(path: String) -> Bool {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    let folders = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"]
    let names = [
      "libswift", "libFoundation", "lib_Foundation", "libdispatch", "libBlocksRuntime",
      "linux-gate.so", "ld-linux", "libc.so", "libstdc++",
    ]
    return folders.contains { path.hasPrefix($0) }
      || names.contains { name.hasPrefix($0) }
  }

  /// Functions of the runtimes, which a static program holds in its own module.
  static func isRuntime(_ function: String) -> Bool {
    let prefixes = [
      "swift_", "_swift_", "swift::", "_dispatch_", "__libc_", "__pthread_", "Swift.",
      "reabstraction thunk", RuntimeFailure.prefix,
    ]
    let names: Set = [
      "abort", "raise", "gsignal", "__GI_raise", "__GI_abort", "pthread_kill", "__assert_fail",
      "__assert_fail_base", "__stack_chk_fail", "__fortify_fail", "_start", "start_thread",
      "clone", "clone3",
    ]
    // Where a dump without a crash is taken.
    let ours = [
      "CrashHandler.LiveDump.", "CrashHandler.dumpWithoutCrash", "Postmortem.dumpWithoutCrash",
    ]
    if ours.contains(where: function.hasPrefix) { return true }
    return names.contains(function) || prefixes.contains { function.hasPrefix($0) }
      || function.contains(" in Swift.") || function.contains(" of Swift.")
  }
}
