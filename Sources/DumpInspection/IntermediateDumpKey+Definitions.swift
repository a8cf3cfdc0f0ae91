package import IntermediateDump

extension IntermediateDumpKey {
  package var kind: IntermediateDumpKeyKind { definition.kind }

  // Each key takes one row, which the formatter would spread over many lines.
  // swift-format-ignore
  package var definition: Definition {
    switch self {
    case .process: .map("""
      The process. The map may occur more than once, first with the facts of the launch, then with \
      those of the crash; the maps are merged.
      """)
    case .processID: .unsigned(4, "Process ID, in the process's own PID namespace.").shown(in: .process, as: "pid")
      .listed(3, as: "pid", .integer, "the process ID, in the process's own namespace", attribute: "process.pid")
    case .parentProcessID: .unsigned(4, "Process ID of the parent at the crash.").shown(in: .process, as: "parent")
    case .executablePath: .text("Path of the executable that the kernel gives.").shown(in: .process, as: "executable")
      .listed(38, as: "executable", .text, "the executable's path", attribute: "process.executable.path")
    case .product: .text("Name of the product that the program gave.").shown(in: .process, as: "product")
    case .version: .text("Version of the product.").shown(in: .process, as: "version")
    case .environment: .text("Free text such as \"production\".").shown(in: .process, as: "environment")
      .listed(37, as: "environment", .word, "the environment, such as `production`", attribute: "deployment.environment.name")
    case .launchTime: .time("Time at which the handler was started.").shown(in: .process, as: "launchTime")
    case .crashTime: .time("Time at which the signal was handled, by the wall clock.").shown(in: .process, as: "crashTime")
    case .userTime: .unsigned(8, "CPU time of all threads in user mode, in nanoseconds.")
    case .systemTime: .unsigned(8, "CPU time of all threads in the kernel, in nanoseconds.")
    case .processStatus: .text("""
        `/proc/self/status` at the crash. If the first thread has ended, the status of the crashing \
        thread follows.
        """)
    case .auxiliaryVector: .bytes("`/proc/self/auxv`: pairs of 8-byte integers.")
    case .identifier: .text("The identifier given to startHandler, with which the dump's file is named.")
    case .reportID: .bytes(16, "The report's ID, in the order in which it is printed.").shown(in: .report, as: "reportID")
    case .launchUptime: .unsigned(8, "CLOCK_BOOTTIME when the handler was started, in nanoseconds.")
    case .crashUptime: .unsigned(8, "CLOCK_BOOTTIME at the crash, in nanoseconds.")
    case .commandLine: .bytes("""
      `/proc/self/cmdline` at launch, each argument ended by NUL; at most 4 KiB. Missing if the \
      program requested it.
      """)
    case .limitsText: .text("`/proc/self/limits` at the crash; at most 8 KiB.")
    case .descriptorCount: .unsigned(4, """
      Open file descriptors, counted in `/proc/self/fd`; counting stops at 65,536. The descriptors \
      of the handler are included.
      """)
      .listed(11, as: "open_files", .integer, "open descriptors")
    case .mappingCount: .unsigned(4, "Lines of `/proc/thread-self/maps`; counting stops at 65,536.")
    case .mappingLimit: .unsigned(8, "`/proc/sys/vm/max_map_count` at the crash.")
    case .memoryUsed: .unsigned(8, """
      Bytes used by the cgroup (`memory.current`; version 1 `memory.usage_in_bytes`).
      """)
      .listed(8, as: "group_bytes", .bytes, "memory of the control group", attribute: "postmortem.memory.group")
    case .memoryLimit: .unsigned(8, """
      Memory limit of the cgroup in bytes (`memory.max`; version 1 `memory.limit_in_bytes`). Missing \
      if there is none.
      """)
      .listed(9, as: "group_limit_bytes", .bytes, """
        the memory limit of the control group; null for none
        """, attribute: "postmortem.memory.group.limit")
    case .tasksUsed: .unsigned(8, "Tasks in the cgroup (`pids.current`).")
    case .tasksLimit: .unsigned(8, "Limit of the tasks in the cgroup (`pids.max`). Missing if there is none.")
    case .cgroup:
      .text("""
        Path of the memory cgroup at launch, from `/proc/self/cgroup`; at most 1 KiB. Missing if the \
        program requested it.
        """).shown(in: .resources, as: "controlGroup")
    case .dumpDigest: .unsigned(8, """
      Digest of the intermediate dump from which the report was made, computed with FNV-1a over \
      words of eight bytes. It shows whether a pending dump with the report's ID is the same dump. \
      Only in a minidump.
      """)
    case .privacy: .unsigned(1, """
      The data that was left out, at the crash or later: \(ReportPrivacy.sanitized.rawValue) \
      `ReportPrivacy.sanitized`, \(ReportPrivacy.noMemory.rawValue) `ReportPrivacy.noMemory`. \
      Missing if nothing was left out.
      """).shown(in: .report, as: "privacy")
    case .processStart: .unsigned(8, """
      The process's start, which is its fork and not its exec, in hundredths of a second after boot: \
      field 22 of `/proc/self/stat`.
      """)
    case .oomScoreAdjustment: .signed(4, """
      `/proc/self/oom_score_adj` at the crash: -1000 to 1000; the higher, the sooner the kernel kills the process \
      because memory ran out.
      """).shown(in: .resources, as: "oomScoreAdjustment", "OOM score")
    case .system: .map("Kernel, machine and system.")
    case .kernelName: .text("`uname -s`.").shown(in: .system, as: "kernelName")
    case .kernelRelease: .text("`uname -r`.").shown(in: .system, as: "kernelRelease")
      .listed(42, as: "kernel", .word, "the kernel's release, as printed by `uname -r`", attribute: "os.version")
    case .kernelVersion: .text("`uname -v`.").shown(in: .system, as: "kernelVersion")
    case .machine: .text("`uname -m`.").shown(in: .system, as: "machine")
    case .distribution: .text("PRETTY_NAME of os-release(5).").shown(in: .system, as: "distribution")
      .listed(41, as: "os", .word, "the distribution's name and version", attribute: "os.description")
    case .processorCount: .unsigned(4, "Processors online: `/sys/devices/system/cpu/online` at the crash.").shown(in: .system, as: "processorCount")
    case .pageSize: .unsigned(8, "Size of a page, in bytes.").shown(in: .system, as: "pageSize")
    case .bootID: .text("`/proc/sys/kernel/random/boot_id`, without the line's end.").shown(in: .system, as: "bootID")
    case .libraryVersion: .text("The C library and its version.").shown(in: .system, as: "libraryVersion")
    case .loadAverage: .text("`/proc/loadavg` at the crash, without the line's end.")
    case .processorModel: .text("`model name` of `/proc/cpuinfo`. In a minidump, and in dumps of earlier versions.").shown(in: .system, as: "processorModel")
    case .processorText: .text("The entry of the first processor in `/proc/cpuinfo` at the crash, cut at 4 KiB.")
    case .releaseText: .text("os-release(5) at launch; at most 4 KiB.")
    case .compiler:
      .text("""
        Name and version of the C compiler of the toolchain that built the handler.
        """).shown(in: .system, as: "compiler")
    case .swiftVersion: .text("Version of the Swift compiler that built the handler, such as \"6.3\".").shown(in: .system, as: "swiftVersion")
    case .exception: .map("The crash. In a dump without a crash (`dumpRequest`), only the thread's ID.")
    case .exceptionThreadID: .unsigned(4, """
      Kernel's ID of the thread that took the signal, or to which a dump without a crash refers. It \
      is the first property.
      """).shown(in: .exception, as: "threadID")
    case .signalNumber: .signed(4, "The signal.").shown(in: .exception, .end, as: "signal")
    case .signalCode: .signed(4, "`si_code`.").shown(in: .exception, as: "code")
    case .faultAddress: .address("`si_addr`; only if the signal sets it.").shown(in: .exception, as: "address")
    case .signalInfo: .bytes(128, "The kernel's siginfo_t.")
    case .fatalMessage: .text("Last message of the Swift runtime.")
    case .abortMessage: .text("Last message of the C library.")
    case .trapNumber: .unsigned(8, "x86 only: the trap's number.")
    case .trapErrorCode:
      .unsigned(8, "x86: the error code of the page fault. arm64: the exception syndrome (ESR).")
    case .faultPage: .unsigned(8, """
      Entry of the page at `faultAddress` in `/proc/self/pagemap`, for a SIGSEGV with SEGV_MAPERR. \
      Bit 58 is set if the page is in a guard region.
      """)
    case .threads: .array("The threads other than the one that took the signal.")
    case .thread: .map("One thread.")
    case .threadID: .unsigned(4, "Kernel's ID of the thread.").shown(in: .thread, as: "id")
    case .threadName: .text("""
      Name of the thread, as written after `Name:` in proc_pid_status(5), with escapes.
      """).shown(in: .thread, as: "name")
    case .threadState: .unsigned(1, """
      The state's letter of proc(5), as a character code, before the thread was asked to stop. In crashes that \
      1.0.0 wrote and that end the process, by the registers.
      """).shown(in: .thread, as: "state")
    case .captureMethod: .code(CaptureMethod.self, "Source of the registers").shown(in: .thread, as: "capturedBy")
    case .generalRegisters: .bytes("""
      x86_64: 23 registers of 8 bytes in the order of gregset_t (r8 to r15, rdi, rsi, rbp, rbx, \
      rdx, rax, rcx, rsp, rip, eflags, cs/gs/fs/ss, err, trapno, oldmask, cr2); in a minidump the \
      first 19. arm64: x0 to x30, sp, pc, pstate, 8 bytes each.
      """)
    case .floatingPointState: .bytes("""
      x86_64: the XSAVE area of the thread that crashed, whose first 512 bytes are the FXSAVE \
      area; of other threads those 512 bytes. arm64: `struct fpsimd_context`, 528 bytes. In a \
      minidump the XSAVE areas of the first threads, up to 8 MiB; of others the first 512 bytes.
      """)
    case .threadPointer:
      .address("The thread control block: base of fs on x86_64, tpidr_el0 on arm64.")
    case .threadStackPointer:
      .address("The stack pointer; in a dump only if it is not in `generalRegisters`.")
    case .threadInstructionPointer:
      .address("The instruction pointer; in a dump only if it is not in `generalRegisters`.")
    case .stack: .array("""
      The captured stack: `memoryRegion` maps with ascending addresses. In the first part of \
      `crashingThread` it is the memory to which the stack pointer and the frame pointer point; \
      bytes outside `stackRegionStart` to `stackRegionEnd` are other memory.
      """)
    case .stackRegionStart: .address("Start of the mapping that the stack pointer is in.")
    case .stackRegionEnd: .address("End of that mapping, exclusive.")
    case .stackBytesOmitted: .unsigned(8, "Bytes of the stack that a limit left out.").shown(in: .thread, as: "stackBytesOmitted")
    case .blockedSignals: .address("Signal mask: bit n - 1 for signal n.")
    case .crashingThread: .map("""
      The thread that took the signal, or that the dump is about; contents as `thread`. It is \
      written in two parts, which contain different bytes of the stack; the first contains the \
      registers and the top of the stack. A hung thread has one part, and so has every thread in \
      dumps of earlier versions.
      """)
    case .schedulingPolicy: .code(SchedulingPolicy.self, "As sched_getscheduler(2)").shown(in: .thread, as: "schedulingPolicy")
    case .niceValue: .signed(4, "The nice value of getpriority(2): -20 to 19.").shown(in: .thread, as: "niceValue")
    case .systemCall: .text("""
      The system call that the thread was blocked in, as proc_pid_syscall(5); at most 192 bytes. \
      Only the number if the arguments are not known. Written only for the first 512 threads.
      """)
    case .systemCallSource: .code(SystemCallSource.self, "The evidence for `systemCall`, in dumps of version 1.0.0", """
      The registers are those of a stopped thread, which repeats the call later; the code is the \
      instruction at which it stopped. Missing if the kernel showed it.
      """)
    case .threadFrames: .bytes("""
      The frames of a thread whose memory was left out (`privacy` 2), innermost first. A header of \
      16 bytes contains how the walk ended (1; \(StoredStackEnd.list)), 1 if the chain of \
      asynchronous callers is cut (1), 1 if there is one (1), nothing (1), the number of \
      asynchronous callers (4) and of frames (4), nothing (4). Then 8 bytes follow for each \
      asynchronous caller, the address at which it continues, and 18 bytes for each frame: address \
      (8), stack pointer or 0 (8), 1 for a return address (1), how it was found (1; \
      \(StoredTrust.list)). Only in a minidump.
      """)
    case .threadProcessorTime: .unsigned(8, """
      In `crashingThread`: CPU time of the thread alone, in user mode and in the kernel together, in \
      nanoseconds (CLOCK_THREAD_CPUTIME_ID), when this is written. Missing if the dump is about \
      another thread than the one that writes it.
      """).shown(in: .thread, as: "processorTime", "CPU time", unit: .nanoseconds)
    case .memory: .array("""
      Memory outside stacks: `memoryRegion` maps. It may occur more than once; all are read. Not in \
      a minidump. For each of at most 256 threads that wait in futex(2), it contains the 16 bytes \
      before the futex word and 40 bytes from the word on. For each thread that waits in `sync`, it contains 96 \
      bytes of the queue and of up to 3 target queues, and 64 bytes of each label.
      """)
    case .memoryRegion: .map("A run of bytes.")
    case .regionAddress: .address("Address of the first byte in the process.")
    case .regionData: .bytes("""
      The bytes. Missing if they could not be read, and in a minidump, whose memory list contains \
      them.
      """)
    case .regionSize: .unsigned(8, "Bytes requested.")
    case .mappings: .array("""
      The text of `/proc/self/maps`, cut into pieces at arbitrary bytes: `mappingsChunk` maps, which \
      a reader joins.
      """)
    case .mappingsChunk: .map("One piece.")
    case .mappingsText: .text("Its text.")
    case .modules: .array("ELF images: `module` maps.")
    case .module: .map("One image.")
    case .moduleAddress:
      .address("Page of the lowest loaded address; it contains the ELF header if that is loaded.")
    case .modulePath: .text("""
      Path as in `/proc/thread-self/maps`, which may end in " (deleted)"; `[vdso]` for the vDSO.
      """)
    case .moduleBuildID: .bytes("The GNU build ID; missing if the image has none.")
    case .moduleProgramHeaders: .bytes("""
      The Elf64_Phdr entries, 56 bytes each; in a minidump only those of loaded segments.
      """)
    case .moduleSize: .unsigned(8, """
      Number of bytes from the header to the end of the last loaded segment. If it is missing, a \
      reader computes it from the program headers.
      """)
    case .moduleSource: .code(ModuleSource.self, "How the image is known", """
      The program and the vDSO are known from the kernel's auxiliary vector, the others from the \
      dynamic linker's list or from an ELF header at the start of a mapping.
      """)
    case .annotations: .array("Annotations given to startHandler: `annotation` maps.")
    case .annotation: .map("One name and its value.")
    case .annotationName: .text("The name.").shown(in: .annotation, as: "name")
    case .annotationValue: .text("The value.")
    case .capture: .map("Completeness and duration of the capture.")
    case .threadsFound: .unsigned(8, """
      Number of threads of the process, without those that ended during the capture and without \
      `threadsOmitted`.
      """).shown(in: .capture, as: "threadsFound")
      .listed(10, as: "threads", .integer, "threads of the process")
    case .threadsStopped: .unsigned(8, """
      Number of threads that were stopped when they were read.
      """).shown(in: .capture, as: "threadsStopped")
    case .threadsReadFromKernel:
      .unsigned(8, "Number of threads whose stack and instruction pointers the kernel showed.").shown(in: .capture, as: "threadsReadFromKernel")
    case .threadsOmitted:
      .unsigned(8, """
        Number of threads past the limit, which were counted but are not in the dump.
        """).shown(in: .capture, as: "threadsOmitted")
    // `SectionTests` compares the list with `Section`.
    case .sectionsAbandoned: .unsigned(8, """
      Bit n is set if section n ended early, by a fault of the handler or at the time limit, or was \
      left out at the time limit. Sections: 1 exception, 2 stopping the threads, 3 reading the \
      mappings, 4 the rest of the crashing thread, 5 process, 6 mappings, 7 modules, 8 system and \
      annotations, 9 other threads, 10 capture, 11 resources, 12 link map, 16 client data, 17 extra \
      memory, 18 C++ exception, 19 tasks, 20 registers and top of the stack of the crashing thread, \
      21 contexts, 22 throws, 23 surroundings, 24 memory behind pointers, 25 objects. After the end \
      mark: 13 crash summary, 14 crash summary on standard error, 15 removing the dumps of hangs. \
      The handler never sets bits 10 and 13 to 15: these sections end after this property is \
      written. A reader sets bit 10 if the property is missing.
      """).shown(in: .capture, as: "sectionsAbandoned")
    case .captureTime: .unsigned(8, "Nanoseconds from the handler's entry until this map is written.").shown(in: .capture, as: "captureTime")
    case .bytesOmitted: .unsigned(8, """
      Number of bytes that were left out because of the size limit.
      """).shown(in: .capture, as: "bytesOmitted")
    case .writerError: .signed(4, "The error number of the first write that failed.")
    case .isIncomplete: .unsigned(1, "1 if the dump was truncated. Only in a minidump.")
    case .damage:
      .text("""
        Place and cause of the damage of a truncated dump. Only in a minidump.
        """).shown(in: .capture, as: "damage")
    case .threadsUnlisted:
      .unsigned(8, """
        Number of threads that do not fit into the minidump's list. Only in a minidump.
        """).shown(in: .capture, as: "threadsUnlisted")
    case .modulesUnlisted:
      .unsigned(8, """
        Number of modules that do not fit into the minidump's list. Only in a minidump.
        """).shown(in: .capture, as: "modulesUnlisted")
    case .regionsUnlisted:
      .unsigned(8, """
        Number of memory regions that do not fit into the minidump's list. Only in a minidump.
        """).shown(in: .capture, as: "regionsUnlisted")
    case .notShown: .unsigned(8, """
      Bits for the parts that could not be read from `/proc`, which are unknown and not empty: \
      \(NotShown.allCases.map { "\($0.rawValue) \($0.name)" }.joined(separator: ", ")). Missing if all could be read.
      """).shown(in: .capture, as: "notShown")
    case .owner: .map("The process that made the run record. Only in a run record.")
    case .ownerProcessID: .unsigned(4, "Process ID.")
    case .ownerStartTime:
      .unsigned(8, "Clock ticks from boot to the process's start: field 22 of proc_pid_stat(5).")
    case .ownerStackStart: .address("""
      Start of the main stack, field 28, which exec changes. 0 if the kernel does not show it.
      """)
    case .ownerBootID: .text("The same value as `bootID`.")
    case .ownerProcessNamespace: .unsigned(8, "Inode of `/proc/thread-self/ns/pid`.")
    case .ownerLaunchTime: .time("Time at which the handler was started.")
    case .linkMap:
      .map("State of the dynamic linker: `struct r_debug` of its main namespace.")
    case .linkVersion: .unsigned(4, "`r_version`: 1, or 2 once dlmopen was used.")
    case .linkState: .unsigned(4, """
      `r_state`: 0 consistent, 1 adding, 2 deleting. The entries of a list that is being changed may \
      be wrong.
      """)
    case .linkBreakpoint: .address("`r_brk`.")
    case .linkLoaderBase: .address("`r_ldbase`.")
    case .linkDebugAddress: .address("Address of the structure.")
    case .dynamicSection: .address("The executable's dynamic section.")
    case .dynamicData: .bytes("The bytes of this section; at most 4 KiB.")
    case .linkEntries: .array("`linkEntry` maps in list order; at most 2,048.")
    case .linkEntry: .map("One `struct link_map`.")
    case .linkAddress: .address("`l_addr`: difference between addresses in the file and in memory.")
    case .linkDynamic: .address("`l_ld`.")
    case .linkName: .text("`l_name`; empty for the executable. At most 4 KiB.")
    case .survival: .map("""
      What happened to the process after the dump, and the crashes that it survived before. Missing \
      if the crash is the first one of the process and ends it by the default action.
      """)
    case .survivalOutcome: .code(SurvivalOutcome.self, "What followed the dump", """
      1: an earlier handler runs after the dump, or a handler that was installed later and called ours continues. \
      2 replaces 1 in the finished dump, if the file still exists, when the process is known to have survived. \
      4 replaces 1 if the handler ends the process by `exit`, by `abort`, or by another signal that it sends \
      itself and that gets no separate dump. \(SurvivalOutcome.endedCode) replaces another value if `abort` ends \
      the first process of a PID namespace. Missing if the default action follows, at once or after Swift's \
      backtracer.
      """).shown(in: .survival, as: "outcome")
    case .previousHandler: .address("The previous handler, if it runs.").shown(in: .survival, as: "previousHandler")
    case .previousHandlerIsBacktracer: .unsigned(1, """
      1 if that handler is Swift's backtracer, in a shared or a statically linked runtime. Missing \
      for other handlers, and in dumps of versions before 1.1.0.
      """).shown(in: .survival, as: "previousHandlerIsBacktracer")
    case .survivedCrashes:
      .unsigned(4, """
        Number of earlier crashes of this process with separate dumps.
        """).shown(in: .survival, as: "survivedCrashes")
    case .precedingReport: .bytes(16, "The report ID of the last of them.").shown(in: .survival, as: "precedingReport")
    case .continuesReport: .bytes(16, """
      In a run record, inside `owner`: the locked file was made because the process may survive the \
      crash of this report. If the file is left empty, the process ended by that crash or later in \
      an ordinary way, and there is no further verdict.
      """)
    case .ownerCrashSignals: .address("""
      In a run record, inside `owner`: the signals that are handled; bit n - 1 stands for signal \
      n.
      """)
    case .ownerStopSignal:
      .unsigned(4, "In a run record, inside `owner`: the signal that stops threads; 0 for none.")
    case .ownerWatchdogSignal: .unsigned(4, """
      In a run record, inside `owner`: the signal that bounds the handler's time; 0 for none.
      """)
    case .ownerTimeNamespace: .unsigned(8, """
      In a run record, inside `owner`: inode of `/proc/self/ns/time`, in which `ownerStartTime` \
      was read; 0 if it was not known.
      """)
    case .ownerIsMapped: .unsigned(1, """
      In a run record, inside `owner`: 1 if the owner keeps this file mapped and found at launch \
      that the mapping prevents a read lease on the file. If a lease is granted later, the owner is \
      dead.
      """)
    case .ownerTakesRequests: .unsigned(1, """
      In a run record, inside `owner`: 1 if the owner takes a dump and continues when \
      `ownerStopSignal` is queued with a `CaptureRequest`.
      """)
    case .ownerToldStacks: .address("""
      In a run record, inside `owner`: the address in the owner's memory of the table of its \
      threads' alternate stacks: 8192 entries of thread ID, base and size, 8 bytes each. Bit 63 of \
      the size is set for a stack of the handler. A process that sends a request finds a thread with \
      room there.
      """)
    case .dumpRequest: .map("""
      The reason for a dump without a crash, in which `exception` contains only the thread's ID. \
      Missing for a crash.
      """)
    case .requestKind: .code(RequestKind.self, "Who asked for the dump").shown(in: .request, as: "kind")
    case .requestReason: .text("The program's reason for the dump; at most 512 bytes.").shown(in: .request, as: "reason")
    case .requestErrorType:
      .text("The type of the error that the program passed; at most 256 bytes.").shown(in: .request, as: "errorType")
      .listed(34)
    case .requestErrorText: .text("That error as text; at most 1024 bytes.").shown(in: .request, as: "errorText")
    case .hangTarget: .code(HangTarget.self, "The part that hung").shown(in: .request, as: "target")
    case .hangName: .text("The program's name for it; at most 128 bytes.").shown(in: .request, as: "name")
    case .hangThreshold:
      .unsigned(8, "Nanoseconds without an answer after which it counts as hung.").shown(in: .request, as: "threshold")
    case .hangTime: .unsigned(8, """
      Nanoseconds without an answer so far, without times in which the complete process was stopped. \
      The value is updated in the finished dump while the hang lasts.
      """).shown(in: .request, as: "hangTime")
      .listed(5, as: "hang_seconds", .seconds, "the duration of a hang", attribute: "postmortem.hang.duration")
    case .hangProcessorTime: .unsigned(8, """
      Nanoseconds of CPU time that the thread in `exception` has used since then, updated in the \
      same way. Missing if no thread is known.
      """).shown(in: .request, as: "processorTime")
    case .hangThreadEvidence: .code(HangThreadEvidence.self, "Certainty that this thread hung", """
      Without evidence it is the thread of the monitor.
      """).shown(in: .request, as: "threadEvidence")
    case .client: .map("""
      Counts of client data that did not fit or is missing; a value of 0 is left out. The data \
      itself is in `annotationObjects`, `simpleAnnotations`, `breadcrumbs` and similar keys. The map \
      may occur more than once; the maps are merged.
      """)
    case .annotationsOmitted: .unsigned(8, """
      Number of annotations that did not fit.
      """).shown(in: .client, as: "annotationsOmitted")
    case .simpleAnnotationsOmitted: .unsigned(8, """
      Number of simple annotations that did not fit.
      """).shown(in: .client, as: "simpleAnnotationsOmitted")
    case .breadcrumbsLeft: .unsigned(8, """
      Number of all breadcrumbs that the program left.
      """).shown(in: .client, as: "breadcrumbsLeft")
    case .breadcrumbsOmitted:
      .unsigned(8, """
        Number of the last 128 breadcrumbs that were being written or could not be written.
        """).shown(in: .client, as: "breadcrumbsOmitted")
    case .memoryRangesOmitted: .unsigned(8, """
      Number of memory ranges that did not fit.
      """).shown(in: .client, as: "memoryRangesOmitted")
    case .memoryBytesOmitted: .unsigned(8, """
      Number of bytes of extra memory past the limit.
      """).shown(in: .client, as: "memoryBytesOmitted")
    case .attachmentsOmitted: .unsigned(8, """
      Number of attachments that did not fit.
      """).shown(in: .client, as: "attachmentsOmitted")
    case .contextsOmitted: .unsigned(8, """
      Number of contexts of the threads in `contexts` that did not fit.
      """).shown(in: .client, as: "contextsOmitted")
    case .annotationObjects:
      .array("The program's annotations that have a type: `annotationObject` maps; at most 400.")
    case .annotationObject: .map("One annotation; its name is in `annotationName`.")
    case .annotationType: .code(AnnotationType.self, "Type of the value", """
      A double is an IEEE 754 number; a bool of 0 is false.
      """).shown(in: .annotation, as: "type")
    case .annotationData: .bytes("""
      The value: text of at most 20,480 bytes, otherwise 8 bytes. Missing if it could not be read.
      """)
    case .annotationState: .code(AnnotationState.self, "State of a value that is not simply the last one", """
      1: a newer value was being written, and this is the previous one. 2: the writing of a newer \
      value was abandoned. 3: the value could not be read because it changed constantly or was \
      overwritten.
      """).shown(in: .annotation, as: "state")
    case .simpleAnnotations: .array("""
      Simple annotations set after launch: `annotation` maps, with `annotationState`; at most 64. \
      They have priority over `annotations` of the same name.
      """)
    case .breadcrumbs:
      .array("The program's breadcrumbs, oldest first: `breadcrumb` maps; at most 128.")
    case .breadcrumb: .map("One note.")
    case .breadcrumbTime: .time("Time, by the wall clock. In minidumps and older dumps.").shown(in: .breadcrumb, as: "time")
    case .breadcrumbUptime: .unsigned(8, "CLOCK_BOOTTIME at that time, in nanoseconds.")
    case .breadcrumbThreadID: .unsigned(4, "Kernel's ID of the thread that left it.").shown(in: .breadcrumb, as: "threadID")
    case .breadcrumbText: .text("Its text; at most 224 bytes.").shown(in: .breadcrumb, as: "text")
    case .breadcrumbLevel: .code(BreadcrumbLevel.self, """
      Its level; missing if it has no level.
      """).shown(in: .breadcrumb, as: "level")
    case .breadcrumbMetadata: .text("""
      Its metadata: alternately names and values, each ended by NUL; at most 224 bytes together with \
      the text. Missing if there is none.
      """).shown(in: .breadcrumb, as: "metadata")
    case .extraMemory: .array("""
      Memory that the program added: `memoryRegion` maps of at most 128 KiB each. Maps that touch \
      belong to one range.
      """)
    case .attachments: .array("Files to be copied with the report: `attachment` maps; at most 16.")
    case .attachment: .map("One file.")
    case .attachmentPath: .text("Its absolute path; at most 1,024 bytes.").shown(in: .attachment, as: "path")
    case .attachmentName: .text("""
      Name of the copy. Only in a minidump, like the next three.
      """).shown(in: .attachment, as: "name")
    case .attachmentSize: .unsigned(8, "Number of bytes that were copied.").shown(in: .attachment, as: "size")
    case .attachmentBytesOmitted: .unsigned(8, """
      Number of bytes before them that were not copied.
      """).shown(in: .attachment, as: "bytesOmitted")
    case .attachmentFailure: .text("The reason why it was not copied.").shown(in: .attachment, as: "failure")
    case .userStreamFailures: .array("""
      Streams of the converter that could not be added: `userStreamFailure` maps. Only in a \
      minidump.
      """)
    case .userStreamFailure: .map("One such stream.")
    case .userStreamReason: .text("The stream and the error; at most 1,024 characters.")
    case .ownerNotes: .bytes(32, """
      In a run record, first inside `owner`, its value at byte 42 of the file: what the process \
      records about its end. The end (4; \(NotedEnd.list); 2 for `_exit`, `_Exit` or `quick_exit`), \
      padding (4), the first signal that asked it to end (4), what followed (4; \
      \(NotedReaction.list); 2 for the first process of a PID namespace, 3 if the program reported \
      it), when (8, nanoseconds since 1970), padding (8). 0 stands for an unset value. Missing if \
      the program turned off reports on how runs end.
      """)
    case .ownerHeartbeat: .bytes(2_048, """
      In a run record, second inside `owner`: the size (4) of a separate document with one \
      `runEvidence`, then that document, then zeros. It is overwritten at each heartbeat, and all \
      bytes are 0 before the first.
      """)
    case .ownerFollowsExits: .unsigned(1, "In a run record: 1 if an end by `_exit` is noted.")
    case .runEvidence: .map("""
      Memory and kill counters at a process's launch (in a run record, inside `owner`) or at its last \
      heartbeat.
      """)
    case .evidenceTime:
      .time("Time at which the values were read. The same map contains `cgroup`, `memoryUsed` and `memoryLimit`.")
    case .evidenceUptime: .unsigned(8, "Nanoseconds since boot, including time in sleep.")
    case .evidenceMachineKills: .unsigned(8, """
      Number of processes that the kernel has killed since boot because memory ran out: `oom_kill` \
      of `/proc/vmstat`.
      """)
    case .evidenceGroupKills:
      .unsigned(8, "The same number for the memory cgroup, from `memory.events` or `memory.oom_control`.")
    case .evidenceGroupProcesses: .unsigned(8, "Number of processes in that cgroup.")
    case .evidenceResidentMemory: .unsigned(8, "Memory of the process in bytes.")
    case .evidenceMachineMemory: .unsigned(8, "Memory of the machine in bytes.")
    case .evidenceAvailableMemory: .unsigned(8, "Available memory of the machine in bytes.")
    case .evidenceLockedFiles:
      .text("Paths of files that the process had locked, one on each line; at most 8.")
    case .evidenceHangReport: .bytes(16, """
      The report ID of a hang that was still going on.
      """).shown(in: .end, as: "hangReport")
    case .runEnd:
      .map("The end of a run without a dump. Only in a minidump.")
    case .runEndKind: .code(RunEndKind.self, "How the run ended", """
      The same map contains `signalNumber` and `evidenceHangReport`.
      """).shown(in: .end, as: "kind")
    case .runEndCertainty: .code(RunEndCertainty.self, "Certainty of this verdict").shown(in: .end, as: "certainty")
    case .runEndEvidence: .text("The evidence, one sentence on each line.").shown(in: .end, as: "evidence")
    case .contexts: .array("""
      The values of `withContext` around each thread's work, from the outermost to the innermost; if \
      a name occurs twice, the last value is used: `context` maps. At most 4,096 threads, the \
      crashing thread first.
      """)
    case .context: .map("One value.")
    case .contextThreadID: .unsigned(4, "The thread that worked on it.")
    case .contextName: .text("Its name; at most 64 bytes.").shown(in: .context, as: "name")
    case .contextValue: .text("The value; at most 232 bytes together with the thread's other contexts.").shown(in: .context, as: "value")
    case .contextIsCut: .unsigned(1, "1 if the text was cut.").shown(in: .context, as: "cut")
    case .workBreadcrumbs: .array("""
      Breadcrumbs of the crashing thread's work: `breadcrumb` maps. They are the last 16 of its \
      context, the last 16 of its task and the last 16 of the thread outside both. They may be in \
      `breadcrumbs` too.
      """)
    case .throwRecords: .array("""
      Places where Swift errors were thrown: `throwRecord` maps; the last 4 of the crashing thread, \
      then the last 16 of other threads, newest first. Written only if the program turned on \
      recording.
      """)
    case .throwRecord: .map("One.")
    case .throwThreadID: .unsigned(4, "The thread that threw.")
    case .throwUptime: .unsigned(8, "CLOCK_BOOTTIME at that time, in nanoseconds.")
    case .throwError: .address("""
      Address of the error's box; missing for an error of a typed throw, which has no box.
      """)
    case .throwAddresses: .bytes("""
      Up to 8 return addresses of 8 bytes, innermost first: those of the hook, of the function that \
      threw, and of its callers, which are found by frame pointers.
      """)
    case .tasks: .array("""
      Tasks of Swift concurrency that threads ran: `task` maps; at most 256, the crashing thread's \
      first. Their memory is in `memory`: 512 bytes of each task, and the slabs that contain its \
      function frames (the last 64 slabs of the first task and the last 8 of each other task, at \
      most 16 KiB each).
      """)
    case .task: .map("One task.")
    case .taskThreadID: .unsigned(4, "The thread that ran it.")
    case .taskAddress: .address("Address of the task object.")
    case .taskLayoutVersion:
      .unsigned(4, "`_swift_concurrency_debug_internal_layout_version` of the runtime.")
    case .cxxException: .map("""
      The C++ exception that the thread caught last before a SIGABRT. An uncaught exception counts \
      as caught by std::terminate(). Only exceptions of libstdc++ are read.
      """)
    case .cxxTypeName: .text("The linkage name of its type; at most 1 KiB.")
    case .cxxMessage: .text("""
      Its text, if its type is derived from std::runtime_error or std::logic_error, or is \
      std::string or a C string; at most 4 KiB.
      """)
    case .senderName: .text("""
      In `exception`: `/proc/<pid>/comm` of the process that sent the signal, read when the signal \
      was handled.
      """)
    case .watchdogInterval: .unsigned(8, """
      In `process`: WATCHDOG_USEC of sd_watchdog_enabled(3) at launch, in nanoseconds, if \
      WATCHDOG_PID is this process or absent.
      """)
    case .hostName: .text("In `system`: `uname -n` at launch; missing if the program requested it.").shown(in: .system, as: "hostName")
      .listed(35, as: "host", .word, "the machine's name, as printed by `uname -n`", attribute: "host.name")
    case .containerMount: .text("""
      In `system`, if `cgroup` is `/` or missing: the file that is mounted at `/run/.containerenv`, \
      otherwise at `/etc/hostname`, from `/proc/self/mountinfo` at the crash; at most 512 bytes.
      """)
    case .timeZone: .text("""
      In `system`: TZ at launch, otherwise the target of `/etc/localtime` at the crash; at most 256 \
      bytes.
      """)
    case .workingDirectory: .text("In `process`: `/proc/thread-self/cwd` at the crash.").shown(in: .process, as: "workingDirectory")
    case .descriptors: .array("""
      In `process`: the lowest 256 open file descriptors at the crash, in the order of \
      `/proc/self/fd`: `descriptor` maps. The handler's descriptors are included.
      """)
    case .descriptor: .map("One descriptor.")
    case .descriptorNumber: .unsigned(4, "Its number.").shown(in: .descriptor, as: "number")
    case .descriptorKind: .code(DescriptorKind.self, "Kind of the file", """
      1 is a regular file or a named pipe that was opened by its path. A device is in `/dev`, a pipe \
      has no name, an anonymous inode is for example `eventfd` or `eventpoll`, and memory comes from \
      memfd_create(2).
      """).shown(in: .descriptor, as: "kind")
    case .descriptorPath: .text("""
      The link's text without the mark of a deleted file; at most 512 bytes. Missing for all but \
      sockets, pipes and anonymous inodes if the program requested it.
      """).shown(in: .descriptor, as: "path")
    case .descriptorPathIsCut: .unsigned(1, "1 if the text was cut.").shown(in: .descriptor, as: "cut")
    case .descriptorIsDeleted: .unsigned(1, """
      1 if the link ends in ` (deleted)`, because the file no longer has a name.
      """).shown(in: .descriptor, as: "deleted")
    case .conversion: .map("""
      Additions of the converter. This key and all that follow occur only in a minidump. The map \
      also contains `annotations`, which have priority over all others of the same name.
      """)
    case .clientID: .bytes(16, "The client ID of the database.")
      .listed(43, as: "client_id", .text, "the database's client ID, one for each installation", attribute: "service.instance.id")
    case .symbols: .array("""
      Functions at addresses on the crashing thread's stack, found at conversion: \
      `symbol` maps.
      """)
    case .symbol: .map("One address.")
    case .symbolAddress:
      .address("The address; for a return address, an address inside the call.")
    case .functions: .array("The functions there, innermost first: `function` maps.")
    case .function: .map("One function.")
    case .functionName:
      .text("The name in the symbol table or the debug information; empty if it is not known.")
    case .functionOffset: .unsigned(8, """
      Bytes from the function's start to the frame's address; missing for an inlined one.
      """)
    case .isInlined: .unsigned(1, "1 if it was inlined into the next one.")
    case .sourceFile: .text("The source file's path.")
    case .sourceLine: .unsigned(4, "The line; from 1.")
    case .sourceColumn: .unsigned(4, "The column; from 1.")
    case .isLineApproximate: .unsigned(1, """
      1 if the code itself has no line and `sourceLine` is the last line before it.
      """)
    }
  }
}
