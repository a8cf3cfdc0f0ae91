/// Tells the program's own code from what comes with the system and with Swift.
enum SystemCode {
  /// Modules that come with the system or with Swift, by where they lie or by name.
  static func isModule(path: String) -> Bool {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    return directories.contains { path.hasPrefix($0) } || names.contains { name.hasPrefix($0) }
  }

  private static let directories = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"]
  private static let names = [
    "libswift", "libFoundation", "lib_Foundation", "libdispatch", "libBlocksRuntime",
    "linux-gate.so", "ld-linux", "libc.so", "libstdc++",
  ]

  /// Functions of the runtimes, which a static program holds in its own module, and which the
  /// optimiser inlines into the program's code.
  ///
  /// - Parameter function: as it was demangled.
  static func isFunction(_ function: String) -> Bool {
    let name = FunctionName.short(function)
    // C reserves names with two underscores in front for its implementation.
    if name.hasPrefix("__") || runtimeFunctions.contains(name)
      || runtimePrefixes.contains(where: name.hasPrefix)
    {
      return !isOwnExtension(function)
    }
    return name.contains(" in Swift.") || name.contains(" of Swift.")
  }

  /// "(extension in App):Swift.Array.f()" is the program's.
  private static func isOwnExtension(_ function: String) -> Bool {
    let mark = "(extension in "
    guard let start = function.firstRange(of: mark)?.upperBound else { return false }
    let module = function[start...].prefix { $0 != ")" } + "."
    return !runtimePrefixes.contains { module.hasPrefix($0) }
  }

  private static let runtimePrefixes = [
    "swift_", "_swift_", "swift::", "Swift.", "_Concurrency.", "_StringProcessing.",
    "Synchronization.", "Foundation.", "FoundationEssentials.", "FoundationInternationalization.",
    "Dispatch.", "Glibc.", "_dispatch_", "dispatch_", "pthread_", "std::",
    "operator new", "operator delete", SwiftFailure.trapPrefix,
    // The handler's own.
    "pm_", "CrashHandler.", "Postmortem.dumpWithoutCrash",
  ]
  private static let runtimeFunctions: Set = [
    "abort", "raise", "gsignal", "kill", "tgkill", "exit", "_exit", "_start", "start_thread",
    "clone", "clone3", "syscall", "malloc", "free", "calloc", "realloc", "memcpy", "memmove",
    "memset", "memcmp", "strlen", "strcmp", "strncmp", "strcpy", "qsort", "qsort_r",
    "malloc_printerr",
    "_int_free", "_int_malloc", "_int_realloc",
  ]

  /// Functions that compilers make, and that come and go with optimisation.
  static func isArtificial(_ function: String) -> Bool {
    if function.hasPrefix(SwiftFailure.trapPrefix) { return true }
    var name = Substring(function)
    if name.hasPrefix("merged ") { name = name.dropFirst("merged ".count) }
    return artificialPrefixes.contains { name.hasPrefix($0) }
  }

  private static let artificialPrefixes = [
    "reabstraction thunk", "partial apply forwarder for ", "protocol witness for ",
    "dispatch thunk of ", "vtable thunk for ", "curry thunk of ", "@objc ", "outlined ",
    "@nonobjc ", "back deployment thunk for ", "distributed thunk ",
  ]
}
