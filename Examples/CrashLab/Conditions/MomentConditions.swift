internal import CCrashLab
internal import Glibc
internal import Postmortem

// Moments such as the start or end of a thread, an exit, the loading of a module, or a signal.

extension Condition {
  static let momentConditions: [Condition] = [
    Condition(
      name: "in-atexit", summary: "in a function that exit(3) calls",
      around: { unsafe condition_in_atexit($0.function, $0.context) }),
    Condition(
      name: "in-signal-handler", summary: "in a signal handler of the program",
      around: { unsafe condition_in_signal_handler($0.function, $0.context) }),
    Condition(
      name: "in-thread-start", summary: "in the start routine of a new thread",
      around: { unsafe condition_in_thread_start($0.function, $0.context) }),
    Condition(
      name: "in-thread-end", summary: "in the destructor of a thread's own value",
      around: { unsafe condition_in_thread_end($0.function, $0.context) }),
    Condition(
      name: "in-dlopen", summary: "in a constructor of a module that is being loaded",
      around: { unsafe condition_in_constructor($0.function, $0.context) }),
    Condition(
      name: "in-resolver",
      summary: "in the loader, in the resolver of an indirect function of a module",
      around: { unsafe condition_in_resolver($0.function, $0.context) }),
    Condition(
      name: "in-static-destructor", summary: "in the destructor of a static object of C++",
      around: { unsafe condition_in_static_destructor($0.function, $0.context) }),
    Condition(
      name: "in-processing", summary: "in processIntermediateDumps, where it waits for the disk",
      around: { body in
        unsafe condition_trap_syncs(body.function, body.context)
        // Without a pending dump, processing does not sync; the call after it crashes then.
        if let database = unsafe getenv("DATABASE") {
          _ = try? processIntermediateDumps(database: unsafe String(cString: database))
        }
        unsafe body.function(body.context)
      }),
  ]
}
