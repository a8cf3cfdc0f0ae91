internal import CrashTestSupport

// Conditions that depend on how crash-lab is started.

extension CrashCondition {
  static let containers: [CrashCondition] =
    [
      CrashCondition(
        name: "pid-1", group: .containers, summary: "the first process of a PID namespace",
        launch: .wrapped(namespace), endsOtherwise: true, needsRoot: true,
        excluded: firstProcessSurvives),
      CrashCondition(
        name: "restarted", group: .containers,
        summary:
          "the first process of a PID namespace, and again in another with the same database",
        launch: .script(
          "\(namespace.joined(separator: " ")) \"$@\"; echo \"status $?\"\n"
            + "exec \(namespace.joined(separator: " ")) \"$@\""),
        crashes: 2, endsOtherwise: true, needsRoot: true, excluded: firstProcessSurvives),
      CrashCondition(
        name: "namespace-clone", group: .containers,
        summary:
          "a child of the system call clone crashes, the first process of a PID namespace like its"
          + " parent: both have the process ID 1",
        launch: .wrapped(namespace), arguments: ["--condition", "namespace-clone"],
        places: [.main, .pthread], surroundsCrash: true, endsOtherwise: true, needsRoot: true,
        excluded: firstProcessSurvives.merging(
          [
            "main-actor":
              "the thread counts as the main thread, because it has the ID of the process"
          ]
        ) { old, _ in old }),
      CrashCondition(
        name: "non-root", group: .containers, summary: "as another user than root",
        launch: .script(
          #"chown 65534:65534 "$DATABASE" && exec "# + nobody.joined(separator: " ") + #" "$@""#),
        needsRoot: true),
      CrashCondition(
        name: "read-only-root", group: .containers,
        summary: "with a read-only file system, the database's directory a mount of its own",
        launch: .script(
          """
          mount --bind "$DATABASE" "$DATABASE" && mount -o remount,bind,ro / && exec "$@"
          """, wrapper: ["/usr/bin/unshare", "--mount"]),
        needsRoot: true,
        excluded: [
          "truncated-file": "the kind itself writes a file",
          "file-size-limit": "the kind itself writes a file",
        ]),
      CrashCondition(
        name: "no-proc", group: .containers,
        summary: "with nothing in /proc: the report has no mappings",
        arguments: ["--condition", "no-proc"],
        // The thread pools of libdispatch and Swift concurrency read `/proc` and trap. Threads from before the
        // handler's start have no alternate stack, because the handler finds them through `/proc`.
        places: [.main, .pthread], knowsMappings: false,
        needsRoot: true),
    ] + privileges + filters

  private static let namespace = [
    "/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
  ]
  private static let firstProcessSurvives = [
    "cpu-limit": "the kernel discards the signal, and the process loops forever",
    "continuation": "the condition makes no difference for this kind",
  ]

  /// The program's handler runs with the alignment checks on, under which libc faults.
  static let unaligned = [
    "misaligned": "the kind turns on alignment checks, which make the program's own handler fault"
  ]

  static let handlers: [CrashCondition] = [
    CrashCondition(
      name: "backtracer", group: .handlers, summary: "Swift's backtracer is on",
      environment: ["SWIFT_BACKTRACE": "enable=yes,color=no"], comparesOutput: false,
      isSlow: true),
    CrashCondition(
      name: "handler-before", group: .handlers, summary: "handlers of the program's, set before",
      arguments: ["--condition", "handler-before"], excluded: unaligned),
    CrashCondition(
      name: "signal-before", group: .handlers, summary: "handlers set by signal(2) before",
      arguments: ["--condition", "signal-before"], excluded: unaligned),
    CrashCondition(
      name: "handler-after", group: .handlers,
      summary: "handlers set later that do not pass on: no report",
      arguments: [
        "--condition", "handler-after",
      ], excluded: unaligned, takesSignals: true),
    CrashCondition(
      name: "chaining-after", group: .handlers, summary: "handlers set later that pass on",
      arguments: ["--condition", "chaining-after"], excluded: unaligned),
    CrashCondition(
      name: "theft", group: .handlers,
      summary:
        "handlers that were there before, and a thread that no signal stops, which puts a file of the program's over the dump when that has begun",
      arguments: ["--condition", "handler-before", "--condition", "theft"], excluded: unaligned),
    CrashCondition(
      name: "first-chance", group: .handlers,
      summary: "a first-chance handler has taken a fault, as a JIT's does, and declines the crash",
      arguments: ["--condition", "first-chance"]),
    CrashCondition(
      name: "alarm-storm", group: .handlers, summary: "SIGALRM every 200 microseconds",
      arguments: ["--condition", "alarm-storm"], interrupts: true),
    CrashCondition(
      name: "stop-and-continue", group: .handlers,
      summary: "another process sends SIGSTOP and SIGCONT all the time",
      arguments: ["--condition", "stop-and-continue"],
      excluded: [
        "exec":
          "exec ends the thread that created the other process, and the other process ends too"
      ]),
    CrashCondition(
      name: "under-gdb", group: .handlers, summary: "run by gdb, which sees each signal first",
      launch: .script(
        """
        gdb -batch -nx -ex 'handle all nostop noprint pass' \
          -ex 'handle SIGSEGV SIGABRT SIGILL SIGBUS SIGFPE stop print pass' \
          -ex run -ex continue -ex continue --args "$@" 2>&1 |
          sed -n 's/.* received signal /received /p' | uniq
        """),
      endsOtherwise: true, keepsLog: false, isSlow: true, tool: .gdb),
    CrashCondition(
      name: "under-strace", group: .handlers, summary: "run by strace",
      launch: .wrapped(["strace", "-f", "-o", "/dev/null"]), isSlow: true, tool: .strace),
  ]

  /// Allocators that replace libc's.
  static let allocators: [CrashCondition] = {
    var conditions = [("jemalloc", OutsideTool.jemalloc), ("tcmalloc", OutsideTool.tcmalloc)]
      .map { name, library in
        CrashCondition(
          name: name, group: .handlers, summary: "\(library.rawValue) is preloaded",
          environment: ["LD_PRELOAD": library.rawValue], tool: library,
          excluded: ["double-free": "only glibc's own allocator detects a double free"])
      }
    conditions[0].excluded["allocation-failure"] =
      "jemalloc grants the allocation, however large it is"
    return conditions
  }()

  static let sharing: [CrashCondition] = [
    CrashCondition(
      name: "two-share", group: .sharing, summary: "two processes crash at the same time",
      launch: .script(together(2)), crashes: 2, endsOtherwise: true,
      excluded: inBackground),
    CrashCondition(
      name: "eight-share", group: .sharing, summary: "eight processes crash at the same time",
      launch: .script(together(8)), crashes: 8, endsOtherwise: true,
      excluded: inBackground),
    CrashCondition(
      name: "pending-500", group: .sharing, summary: "500 dumps are pending when it starts",
      dumpsBefore: 500, isSlow: true),
  ]

  private static let inBackground = [
    "sent-quit": "processes that a shell runs in the background ignore SIGQUIT"
  ]

  private static func together(_ count: Int) -> String {
    """
    processes=
    for number in $(seq \(count)); do "$@" & processes="$processes $!"; done
    for process in $processes; do wait $process; echo "status $?"; done 2>/dev/null
    """
  }

  private static let privileges: [CrashCondition] = [
    dropped("other-user", "after setresuid(2) to nobody"),
    dropped("other-root", "after chroot(2) into an empty directory"),
    dropped("other-user-and-root", "after both"),
    CrashCondition(
      name: "not-dumpable", group: .containers, summary: "after PR_SET_DUMPABLE 0",
      arguments: ["--condition", "not-dumpable"]),
    CrashCondition(
      name: "plain-files", group: .containers,
      summary: "where neither FIFOs nor links can be made, nor modes changed, as on SMB",
      arguments: ["--condition", "plain-files"]),
    CrashCondition(
      name: "setuid", group: .containers,
      summary: "a setuid program of root's, run by nobody: the database is root's alone",
      launch: .script(
        """
        copy=$(mktemp "$DATABASE-XXXXXX") && cp "$1" "$copy" && chmod 4755 "$copy" && shift &&
        exec \(nobody.joined(separator: " ")) "$copy" "$@"
        """),
      keepsLog: false, needsRoot: true),
  ]

  private static func dropped(_ name: String, _ summary: String) -> CrashCondition {
    var condition = CrashCondition(
      name: name, group: .containers, summary: summary, arguments: ["--condition", name],
      needsRoot: true, excluded: ["out-of-memory": "the kind needs root"])
    if name != "other-user" {
      condition.excluded["exec"] =
        "the new root directory does not contain the program that exec starts"
      // The thread pools of libdispatch and Swift concurrency read /proc and trap.
      condition.places = [.main, .pthread, .earlierThread]
      for kind in ["truncated-file", "file-size-limit"] {
        condition.excluded[kind] = "the kind itself needs /tmp"
      }
    }
    return condition
  }

  /// Kinds that crash by an instruction; all others make system calls, which the filter refuses, too.
  private static let instructions: Set = [
    "null-read", "null-write", "null-call", "wild-pointer", "non-canonical", "divide-by-zero",
    "illegal-instruction", "builtin-trap", "integer-overflow", "stack-overflow", "huge-frame",
    "alloca", "deep",
  ]

  private static let filters: [CrashCondition] = [
    ("calls-not-permitted", "EPERM to every system call that the handler can forgo"),
    ("calls-not-implemented", "ENOSYS to the same"),
    ("actions-not-permitted", "EPERM to rt_sigaction"),
  ].map { name, answer in
    var condition = CrashCondition(
      name: name, group: .containers, summary: "a seccomp filter answers \(answer)",
      arguments: ["--condition", name], surroundsCrash: true,
      knowsMappings: name == "actions-not-permitted", readsMemory: name == "actions-not-permitted",
      keepsLog: name == "actions-not-permitted")
    for crash in KnownCrash.all where !instructions.contains(crash.kind) {
      condition.excluded[crash.kind] = "the kind itself makes system calls that the filter refuses"
    }
    if name == "actions-not-permitted" {
      // For a fault without a code of its own, the handler does not know that it recurs, and no action can be
      // restored.
      condition.excluded["non-canonical"] =
        "the process ends with exit code 139 under this condition"
    }
    return condition
  }
}
