/// Recognizes code of Swift's libraries, of the C and C++ libraries, and of the handler, by module and function
/// names.
///
/// Most names are compared in full and not by prefix, because a program may have, for example, a `libswiftshop.so`, a
/// `dispatch_order` and a `pm_total`.
package enum RuntimeCode {
  // MARK: - Modules

  /// True for the file name of a library of Swift or of the system, wherever it is installed.
  ///
  /// - Parameter name: the file name.
  static func isLibrary(_ name: String) -> Bool {
    // Matches names such as "libc.so.6", "libstdc++.so.6.0.30", "ld-linux-x86-64.so.2" and "libc-2.31.so".
    guard let end = name.firstRange(of: ".so")?.lowerBound else { return false }
    var base = name[..<end]
    if let version = base.lastIndex(of: "-"), base[version...].dropFirst().first?.isNumber == true {
      base = base[..<version]
    }
    return libraries.contains(String(base)) || base.hasPrefix("ld-") || name == "linux-vdso.so.1"
  }

  /// True for a library of Swift; code in such a library may write a message of the Swift runtime.
  static func isSwiftLibrary(_ name: String) -> Bool {
    isLibrary(name) && ["libswift", "lib_", "libFoundation"].contains(where: name.hasPrefix)
  }

  /// Source: usr/lib/swift/linux of the toolchain; glibc; GCC's libraries.
  private static let libraries = set(
    """
    libswiftCore libswift_Concurrency libswift_StringProcessing libswift_RegexParser libswiftGlibc \
    libswiftMusl libswiftDispatch libswiftDistributed libswiftObservation libswiftRegexBuilder \
    libswiftRemoteMirror libswiftRuntime libswiftSwiftOnoneSupport libswiftSynchronization \
    libswift_Builtin_float libswift_Differentiation libswift_Volatile libswiftCxx libswiftCxxStdlib \
    libswiftDemangle lib_InternalSwiftStaticMirror lib_InternalSwiftScan libFoundation \
    libFoundationEssentials libFoundationInternationalization libFoundationNetworking \
    libFoundationXML lib_FoundationICU libdispatch libBlocksRuntime libTesting libXCTest \
    lib_TestingInterop lib_Testing_Foundation \
    linux-gate libc libm libpthread libdl librt libutil libresolv libanl libnsl libcrypt \
    libnss_files libnss_dns libnss_compat libthread_db libmvec libstdc++ libgcc_s libatomic \
    libasan libubsan libtsan liblsan
    """)

  /// True for a Swift module of the toolchain or of this package.
  package static func isModule(_ name: Substring) -> Bool { modules.contains(String(name)) }

  // MARK: - Functions

  /// True for a function of Swift's or the system's libraries or of the handler, even if static linking or inlining
  /// has put it into the program's own module.
  ///
  /// - Parameters:
  ///   - function: the demangled name.
  ///   - isCNameOwn: true if a C function with a name such as `swift_total` must be the program's own, because of its
  ///     source file, or because Swift's runtime is a separate library.
  static func isFunction(_ function: String, isCNameOwn: Bool) -> Bool {
    if isOwnExtension(function) { return false }
    let name = SignatureName(function).text
    // In the name of a local function, such as "helper in Swift.Array.f()", the name of the enclosing function comes
    // last.
    let declared = name.ranges(of: " in ").last.map { name[$0.upperBound...] } ?? name[...]
    if declared.contains("::") || declared.hasPrefix("operator ") { return isCxx(declared) }
    if let dot = declared.firstIndex(of: "."), dot > declared.startIndex {
      return modules.contains(String(declared[..<dot]))
    }
    // Names that begin with two underscores belong to the C implementation. The other prefixes are those of libdispatch
    // and of the Swift runtime.
    if declared.hasPrefix("__") || declared.hasPrefix("_dispatch_")
      || declared.hasPrefix("_swift_")
    {
      return true
    }
    if cFunctions.contains(String(declared)) { return true }
    return !isCNameOwn
      && (declared.hasPrefix("swift_") || declared.hasPrefix("pthread_")
        || dispatchFunctions.contains(String(declared)))
  }

  /// True for a function of an extension in the program, such as "(extension in App):Swift.Array.f()".
  private static func isOwnExtension(_ function: String) -> Bool {
    let mark = "(extension in "
    guard let start = function.firstRange(of: mark)?.upperBound else { return false }
    return !modules.contains(String(function[start...].prefix { $0 != ")" }))
  }

  private static func isCxx(_ name: Substring) -> Bool {
    name.hasPrefix("operator new") || name.hasPrefix("operator delete")
      || name.firstRange(of: "::").map { namespaces.contains(String(name[..<$0.lowerBound])) }
        ?? false
      || name.hasPrefix("__") || name.hasPrefix("icu_")
  }

  private static let namespaces: Set = ["std", "swift"]

  /// The modules of the toolchain and of this package.
  private static let modules = set(
    """
    Swift _Concurrency _StringProcessing _RegexParser RegexBuilder Synchronization Distributed \
    Observation Runtime _Differentiation SwiftOnoneSupport Cxx CxxStdlib Glibc Musl Dispatch \
    Foundation FoundationEssentials FoundationInternationalization FoundationNetworking \
    FoundationXML _FoundationICU _FoundationCollections _FoundationCShims CoreFoundation Testing \
    XCTest __C \
    CrashHandler HangDetection IntermediateDump PendingDumps ProcessSnapshot Stackwalk Minidump \
    DumpInspection CoreFile CrashReport CrashReportDatabase CrashConverter CrashReportUpload \
    Postmortem PostmortemHandler PostmortemUpload
    """)

  /// Functions of libc, and functions of the handler that can occur on stacks between functions of the program.
  private static let cFunctions = set(
    """
    abort raise gsignal kill tgkill exit _exit _start start_thread clone clone3 syscall malloc free \
    calloc realloc memcpy memmove memset memcmp strlen strcmp strncmp strcpy qsort qsort_r \
    malloc_printerr malloc_consolidate sysmalloc unlink_chunk _int_free _int_malloc _int_realloc \
    rust_begin_unwind rust_panic pthread_create pm_start_thread pm_handle_crash pm_handle_stop pm_handle_watchdog \
    pm_abort pm_takes_abort pm_sigprocmask pm_sigaction pm_syscall6
    """)

  /// Source: libdispatch, the functions that its library exports.
  private static let dispatchFunctions = set(
    """
    dispatch_activate dispatch_after dispatch_after_f dispatch_apply dispatch_apply_f \
    dispatch_assert_queue dispatch_assert_queue_barrier dispatch_assert_queue_not dispatch_async \
    dispatch_async_and_wait dispatch_async_and_wait_f dispatch_async_f \
    dispatch_async_enforce_qos_class_f dispatch_barrier_async dispatch_barrier_async_and_wait \
    dispatch_barrier_async_and_wait_f dispatch_barrier_async_f dispatch_barrier_sync \
    dispatch_barrier_sync_f dispatch_block_cancel dispatch_block_notify dispatch_block_perform \
    dispatch_block_wait dispatch_data_apply dispatch_data_apply_f dispatch_group_async \
    dispatch_group_async_f dispatch_group_enter dispatch_group_leave dispatch_group_notify \
    dispatch_group_notify_f dispatch_group_wait dispatch_io_barrier dispatch_io_barrier_f \
    dispatch_io_close dispatch_io_read dispatch_io_read_f dispatch_io_write dispatch_io_write_f \
    dispatch_main dispatch_once dispatch_once_f dispatch_read dispatch_read_f dispatch_release \
    dispatch_resume dispatch_retain dispatch_semaphore_signal dispatch_semaphore_wait \
    dispatch_set_target_queue dispatch_source_cancel dispatch_source_cancel_and_wait \
    dispatch_suspend dispatch_sync dispatch_sync_f dispatch_write dispatch_write_f
    """)

  private static func set(_ words: String) -> Set<String> {
    Set(words.split(separator: " ").map { String($0) })
  }
}
