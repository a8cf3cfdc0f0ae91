// Conditions that crash-lab makes itself.

extension CrashCondition {
  private static func made(
    _ name: String, _ group: Group, _ summary: String, surrounds: Bool = false
  ) -> CrashCondition {
    CrashCondition(
      name: name, group: group, summary: summary, arguments: ["--condition", name],
      surroundsCrash: surrounds)
  }

  static let places: [CrashCondition] = CrashPlace.allCases.map { place in
    CrashCondition(
      name: "on-\(place.rawValue)", group: .place, summary: "nothing else", places: [place])
  }

  /// Kinds for which the runtimes allocate more than a thread's cache holds: they wait for malloc's lock forever,
  /// with or without a handler.
  private static let allocating: [String: String] = {
    let kinds = [
      "fatal-error", "precondition", "unwrap-nil", "index-out-of-range", "forced-cast",
      "unowned-after-free", "exclusivity", "try-bang", "main-actor", "continuation",
      "truncated-file", "file-size-limit", "assert", "double-free", "cxx-exception",
      "cxx-noexcept", "allocation-failure", "pure-virtual", "stack-smash", "pipe",
    ]
    return Dictionary(
      uniqueKeysWithValues: kinds.map {
        ($0, "the kind allocates memory, so it would wait for the lock and not crash")
      })
  }()

  static let locks: [CrashCondition] = {
    var malloc = made(
      "malloc-lock", .locks,
      "the crash happens inside malloc, whose only arena is locked: a seccomp filter traps the"
        + " system call by which it grows", surrounds: true)
    malloc.excluded = allocating
    malloc.excluded["seccomp"] = "a seccomp filter creates the condition itself"
    for kind in ["sent-segv", "sent-abort", "sent-quit"] {
      malloc.excluded[kind] = "the kind calls fork(3), which waits for the lock"
    }
    var metadata = made(
      "metadata-lock", .locks,
      "the same, in a malloc that Swift's runtime calls while it instantiates a generic type",
      surrounds: true)
    metadata.excluded = malloc.excluded
    return [
      malloc,
      made(
        "loader-lock", .locks, "in a callback of dl_iterate_phdr, which holds the loader's lock",
        surrounds: true),
      made("stdio-lock", .locks, "stdout and stderr are locked", surrounds: true),
      metadata,
      made(
        "once-lock", .locks, "in the initialiser of a global variable, under its once",
        surrounds: true),
      made("mutex", .locks, "holds a mutex that another thread waits for", surrounds: true),
    ]
  }()

  static let moments: [CrashCondition] = {
    var conditions = [
      made("in-atexit", .moments, "in a function that exit(3) calls", surrounds: true),
      made("in-signal-handler", .moments, "in a signal handler of the program", surrounds: true),
      made(
        "in-thread-start", .moments, "in the start routine of a thread just made", surrounds: true),
      made(
        "in-thread-end", .moments, "in the destructor of a thread-specific value",
        surrounds: true),
      made("in-dlopen", .moments, "in a constructor, under the loader's lock", surrounds: true),
      made(
        "in-resolver", .moments,
        "in the resolver of an indirect function, while the loader links its module",
        surrounds: true),
      made(
        "in-static-destructor", .moments,
        "in the destructor of a static object of C++, behind all exit handlers", surrounds: true),
      made(
        "in-processing", .moments, "inside `processIntermediateDumps`, which has taken a dump",
        surrounds: true),
    ]
    conditions[6].excluded["cxx-exception"] =
      "the exception has left the function when it ends the process in the destructor, so the function is no longer on the stack"
    conditions[7].dumpsBefore = 1
    conditions[7].excluded["seccomp"] = "a seccomp filter creates the condition itself"
    for index in 2...3 {
      conditions[index].isOnOtherThread = true
      conditions[index].places = [.main]
    }
    return conditions
  }()

  static let threads: [CrashCondition] = {
    var once = made("at-once", .threads, "64 threads crash at the same instant", surrounds: true)
    once.isOnOtherThread = true
    once.places = [.main]
    once.comparesOutput = false
    once.excluded["file-size-limit"] =
      "the kind lowers the file size limit again while the dump is written"
    var second = made(
      "second-crash", .threads,
      "a thread that blocks the stop signals crashes 300 microseconds after the first",
      surrounds: true)
    second.places = [.main, .pthread]
    second.excluded["file-size-limit"] =
      "the kind lowers the file size limit again while the dump is written"
    second.excluded["sent-segv"] =
      "another process sends the signal, so the second thread does not crash"
    second.excluded["sent-abort"] =
      "another process sends the signal, so the second thread does not crash"
    second.excluded["sent-quit"] =
      "another process sends the signal, so the second thread does not crash"
    let crowds = [0, 15, 127, 999, 3999].map { count in
      var crowd = CrashCondition(
        name: "threads-\(count + 1)", group: .threads,
        summary: "\(count + 1) threads in all, on the main thread",
        arguments: ["--threads", "\(count)"], places: [.main])
      crowd.isSlow = count > 900
      crowd.takesTime = crowd.isSlow
      return crowd
    }
    var churn = made(
      "thread-churn", .threads, "four threads start and join others all the time")
    churn.excluded["exec"] =
      "exec makes `pthread_create` fail in the four threads that start others"
    var blocked = [
      made(
        "blocked-before", .threads, "every signal was blocked in main before the handler started"),
      made(
        "blocked-after", .threads, "every signal is blocked in main once the handler has started"),
    ]
    // A thread from before the handler's start inherits the mask, and no signal of the handler reaches it.
    blocked[0].places = [.main, .pthread, .dispatch, .task]
    for index in blocked.indices {
      for kind in ["sent-segv", "sent-abort", "sent-quit"] {
        blocked[index].excluded[kind] = "without the handler, the blocked signal stays pending"
      }
      for kind in ["pipe", "file-size-limit", "cpu-limit"] {
        blocked[index].excluded[kind] =
          "with the signal blocked, the system call only returns an error, or nothing happens"
      }
      for end in QuietEnd.all {
        blocked[index].excluded[end.kind] = "the end needs a signal, and all signals are blocked"
      }
    }
    var lost = made(
      "bad-thread-base", .threads,
      "the thread's FS base (TPIDR_EL0) points nowhere: what crashes by an instruction alone",
      surrounds: true)
    // These kinds call no function, because the dynamic linker needs the thread control block, too.
    let bare: Set = [
      "null-read", "null-write", "null-call", "wild-pointer", "non-canonical", "divide-by-zero",
      "illegal-instruction", "builtin-trap", "breakpoint",
    ]
    for crash in KnownCrash.all where !bare.contains(crash.kind) {
      lost.excluded[crash.kind] =
        "the kind itself needs the thread's control block, which cannot be read"
    }
    var stealing = made(
      "stealing-thread", .threads,
      "a thread that no signal stops puts a file of the program's over each descriptor, and closes it, all the time"
    )
    // A worker of libdispatch needs a descriptor when it starts.
    stealing.places = [.main, .pthread]
    for kind in ["truncated-file", "file-size-limit", "pipe"] {
      stealing.excluded[kind] = "the kind itself needs a descriptor"
    }
    for end in QuietEnd.all {
      stealing.excluded[end.kind] =
        "the end is noted through a descriptor, which the other thread replaces"
    }
    var exiting = made(
      "exiting-thread", .threads,
      "a thread that blocks every signal calls exit as soon as the dump has begun")
    exiting.excluded["exec"] = "exec ends the thread that would call exit"
    var ended = made(
      "first-thread-ended", .threads, "once the first thread has ended", surrounds: true)
    ended.places = CrashPlace.allCases.filter { $0 != .main }
    return crowds + signalStacks + [
      once, second, exiting, ended,
      made("deaf-threads", .threads, "four threads block every signal"),
      made("starved-thread", .threads, "a thread works while libc blocks its signals"),
      made("vfork-parent", .threads, "a thread is in state D: it waits for its vfork child"),
      made("traced-thread", .threads, "a thread is stopped by a tracer"),
      churn, blocked[0], blocked[1],
      made("spinning-threads", .threads, "four threads never sleep"),
      lost, stealing,
      made(
        "bad-thread-base-beside", .threads, "a thread's FS base (TPIDR_EL0) points nowhere"),
      CrashCondition(
        name: "small-stack", group: .threads, summary: "on a pthread with a stack of 64 KiB",
        arguments: ["--stack", "65536"], places: [.pthread],
        excluded: ["deep": "the kind uses more stack than 64 KiB"]),
    ]
  }()

  /// Kinds that crash by an instruction and call nothing that needs stack space.
  private static let bare: Set = [
    "null-read", "null-write", "null-call", "wild-pointer", "non-canonical", "execute-data",
    "write-to-code", "divide-by-zero", "illegal-instruction", "builtin-trap", "breakpoint",
  ]

  private static let signalStacks: [CrashCondition] = {
    [
      ("signal-stacks-4k", "on alternate stacks of 4,096 bytes", 4096),
      ("signal-stacks-6k", "on alternate stacks of 6,144 bytes", 6144),
      ("signal-stacks-8k", "on alternate stacks of 8,192 bytes", 8192),
      ("handlers-on-8k", "in a signal handler on an alternate stack of 8,192 bytes", 8192 / 2),
    ].map { name, summary, size in
      var condition = made(
        name, .threads, "64 threads crash at the same instant, " + summary, surrounds: true)
      condition.isOnOtherThread = true
      condition.places = [.main]
      condition.comparesOutput = false
      // The instructions before our handler changes stacks need room, too.
      condition.largestSignalFrame = size - 700
      condition.excluded["file-size-limit"] =
        "the kind lowers the file size limit again while the dump is written"
      if name == "handlers-on-8k" {
        for crash in KnownCrash.all where !bare.contains(crash.kind) {
          condition.excluded[crash.kind] = "the kind needs more room than the alternate stack has"
        }
      }
      return condition
    }
  }()

  static let modules: [CrashCondition] = {
    var many = made("many-modules", .modules, "2,000 modules more are loaded")
    many.isSlow = true
    many.takesTime = true
    var mappings = made("many-mappings", .modules, "60,000 mappings more")
    mappings.isSlow = true
    mappings.takesTime = true
    return [
      many, mappings,
      made("closed-module", .modules, "a module was unloaded"),
      made(
        "deleted-module", .modules, "called by a module whose file was removed", surrounds: true),
      made(
        "replaced-module", .modules, "called by a module whose file is another now",
        surrounds: true),
      made(
        "memfd-module", .modules, "called by a module loaded from a memfd", surrounds: true),
      made("other-namespace", .modules, "called by a module that dlmopen loaded", surrounds: true),
      made(
        "copied-module", .modules, "called by a copy of a module that the loader does not know",
        surrounds: true),
      made(
        "moved-code", .modules, "the program's code was moved to memory without a file"),
    ]
  }()

  static let resources: [CrashCondition] = {
    var descriptors = made("no-descriptors", .resources, "no descriptor is left")
    // libdispatch needs a descriptor to start its first worker, and traps without one.
    descriptors.places = [.main, .pthread]
    for kind in ["truncated-file", "file-size-limit", "pipe"] {
      descriptors.excluded[kind] = "the kind itself needs a descriptor"
    }
    var size = made("file-size-0", .resources, "RLIMIT_FSIZE is 0")
    // The test redirects output to files, and writing a message to standard error would end the process.
    size.launch = .script(#"exec "$@" >/dev/null 2>&1"#)
    size.keepsLog = false
    for kind in ["truncated-file", "file-size-limit", "out-of-memory"] {
      size.excluded[kind] = "the kind itself writes a file"
    }
    var full = made(
      "disk-full", .resources,
      "the database is on a tmpfs of 4 MiB that the program has filled: a dump larger than what was"
        + " preallocated, as of a stack overflow, is torn there")
    full.useSmallDisk()
    var readOnly = made(
      "directory-read-only", .resources,
      "the database's directories lost their write permission, not root"
    )
    readOnly.launch = .script(
      #"chown 65534:65534 "$DATABASE" && exec "# + nobody.joined(separator: " ") + #" "$@""#)
    readOnly.needsRoot = true
    readOnly.excluded["out-of-memory"] = "the kind needs root"
    var otherError = made(
      "other-stderr", .resources, "descriptor 2 is another file than at the start")
    otherError.keepsLog = false
    descriptors.excluded["exec"] =
      "the new program needs a descriptor to load its libraries, and exec frees descriptors only if the handler is installed"
    descriptors.excluded["out-of-memory"] = "the kind itself needs a descriptor"
    return [
      descriptors, made("close-range", .resources, "close_range(3, ~0)"), size, full,
      made("directory-deleted", .resources, "the database was removed"), readOnly,
      made("no-cwd", .resources, "the working directory was removed"),
      otherError,
      signals("no-pending-signals", "RLIMIT_SIGPENDING is 0"),
      signals("full-signal-queue", "RLIMIT_SIGPENDING is used up"),
    ]
  }()

  /// Places the program's database on a disk of 4 MiB, and copies it back when the program has ended.
  private mutating func useSmallDisk() {
    launch = .script(
      """
      mkdir -p "$DATABASE" "$DATABASE-disk" && mount -t tmpfs -o size=4m none "$DATABASE-disk" &&
      mkdir "$DATABASE-disk/database" || exit 71
      "$@"; status=$?
      rm -f "$DATABASE-disk/database/filler"
      cp -a "$DATABASE-disk/database/." "$DATABASE" || exit 71
      exit $status
      """, wrapper: ["/usr/bin/unshare", "--mount"])
    databaseSuffix = "-disk/database"
    endsOtherwise = true
    cutsLargeDumps = true
    needsRoot = true
  }

  private static func signals(_ name: String, _ summary: String) -> CrashCondition {
    var condition = made(name, .resources, summary)
    condition.losesSenders = true
    return condition
  }

  /// A converter examines the process while it is alive.
  ///
  /// Whatever the converter concludes, the crash becomes exactly one report.
  static let converters: [CrashCondition] = {
    var conditions = [
      made(
        "converted-elsewhere", .containers,
        "close_range(3, ~0), then a converter in another PID namespace"),
      made(
        "converted-in-another-time", .containers, "after a converter in another time namespace"),
      made(
        "taken-for-dead", .sharing,
        "after a converter that took the process for dead, and reported the end of its run"),
    ]
    conditions[0].needsRoot = true
    conditions[1].needsRoot = true
    return conditions
  }()

  static let nobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

  static let children: [CrashCondition] = {
    var conditions = [
      made("forked-child", .children, "a child crashes, its parent exits", surrounds: true),
      made("child-then-parent", .children, "a child crashes, then its parent", surrounds: true),
      made("grandchild", .children, "a child's child crashes, the others exit", surrounds: true),
      made("workers", .children, "a prefork server's eight workers crash", surrounds: true),
      made(
        "vfork-then-parent", .children, "a vfork child crashes, then its parent", surrounds: true),
      made(
        "exec-child", .children, "the parent crashes after a child that ran another program died",
        surrounds: true),
      made(
        "bare-fork", .children, "a child of _Fork crashes, which runs no atfork handlers",
        surrounds: true),
      made("raw-clone", .children, "a child of the system call clone crashes", surrounds: true),
      made(
        "early-atfork", .children,
        "a child crashes in an atfork handler that was registered before the handler's",
        surrounds: true),
      made("daemon", .children, "crashes after daemon(3)", surrounds: true),
      made(
        "daemon-disk-full", .children,
        "crashes after daemon(3), when the disk under the database has run full", surrounds: true),
      made(
        "clone-at-once", .children, "64 threads of a child of clone crash at the same instant",
        surrounds: true),
    ]
    for index in conditions.indices {
      // The threads of libdispatch and Swift concurrency do not exist in a forked child.
      conditions[index].places = [.main, .pthread]
    }
    for index in [0, 2, 3, 6, 7, 8, 9] { conditions[index].endsOtherwise = true }
    conditions[10].useSmallDisk()
    conditions[11].arguments = ["--condition", "raw-clone", "--condition", "at-once"]
    conditions[11].endsOtherwise = true
    conditions[11].isOnOtherThread = true
    conditions[11].places = [.main]
    conditions[11].excluded["file-size-limit"] =
      "the kind lowers the file size limit again while the dump is written"
    conditions[1].crashes = 2
    conditions[3].crashes = 8
    for kind in ["sent-segv", "sent-abort", "sent-quit"] {
      conditions[8].excluded[kind] = "the kind forks, which runs the same atfork handler again"
    }
    // The child shares the parent's memory: it changes the parent's data, and its signals go to the parent.
    for kind in ["sent-segv", "sent-abort", "sent-quit"] {
      conditions[4].excluded[kind] = "the child would send the signal to its parent"
    }
    conditions[4].excluded["exclusivity"] =
      "the child would leave an exclusive access open in its parent's memory"
    return conditions
  }()
}
