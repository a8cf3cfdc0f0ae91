package import IntermediateDump

extension IntermediateDumpKey {
  package var kind: IntermediateDumpKeyKind { definition.kind }

  // The formatter would spread the definition of each key over many lines.
  // swift-format-ignore
  package var definition: Definition {
    switch self {
    case .process: .map("""
      The process. This map may occur more than once: first with facts from the launch, then with \
      facts from the crash. A reader merges the maps.
      """)
    case .processID: .unsigned(4, "Process ID, in the process's own PID namespace.").shown(in: .process, as: "pid")
      .listed(3, as: "pid", .integer, """
      the process ID in the process's own PID namespace
      """, attribute: "process.pid")
    case .parentProcessID: .unsigned(4, "Process ID of the parent at the crash.").shown(in: .process, as: "parent")
    case .executablePath: .text("""
      Path of the executable, as the kernel reports it.
      """).shown(in: .process, as: "executable")
      .listed(38, as: "executable", .text, "the executable's path", attribute: "process.executable.path")
    case .product: .text("Name of the product, as passed to startHandler.").shown(in: .process, as: "product")
    case .version: .text("Version of the product.").shown(in: .process, as: "version")
    case .environment: .text("""
      Name of the environment, such as "production".
      """).shown(in: .process, as: "environment")
      .listed(37, as: "environment", .word, "the environment, such as `production`", attribute: "deployment.environment.name")
    case .launchTime: .time("Time at which the handler was started.").shown(in: .process, as: "launchTime")
    case .crashTime: .time("Time at which the signal was handled, by the wall clock.").shown(in: .process, as: "crashTime")
    case .userTime: .unsigned(8, "CPU time of all threads in user mode, in nanoseconds. Only in a minidump.")
    case .systemTime: .unsigned(8, "CPU time of all threads in the kernel, in nanoseconds. Only in a minidump.")
    case .processStatus: .text("""
        `/proc/self/status` at the crash. If the first thread has ended, the status of the crashing \
        thread follows.
        """)
    case .auxiliaryVector: .bytes("`/proc/self/auxv`: pairs of 8-byte integers.")
    case .identifier: .text("""
      The identifier that was passed to startHandler. The dump's file name begins with this \
      identifier.
      """)
    case .reportID: .bytes(16, """
      The report's ID as 16 bytes, in the order in which they are printed.
      """).shown(in: .report, as: "reportID")
    case .launchUptime: .unsigned(8, "CLOCK_BOOTTIME when the handler was started, in nanoseconds.")
    case .crashUptime: .unsigned(8, "CLOCK_BOOTTIME at the crash, in nanoseconds.")
    case .commandLine: .bytes("""
      `/proc/self/cmdline` at launch: each argument ends with a NUL; at most 4 KiB. Missing if the \
      program turned off the capture of arguments.
      """)
    case .limitsText: .text("`/proc/self/limits` at the crash; at most 8 KiB.")
    case .descriptorCount: .unsigned(4, """
      Number of open file descriptors in `/proc/self/fd`, including those of the handler. Counting \
      stops at 65,536.
      """)
      .listed(11, as: "openFiles", .integer, "number of open descriptors")
    case .mappingCount: .unsigned(4, "Number of lines of `/proc/thread-self/maps`.")
    case .mappingLimit: .unsigned(8, "`/proc/sys/vm/max_map_count` at the crash. Only in a minidump.")
    case .memoryUsed: .unsigned(8, """
      Memory use of the cgroup in bytes (`memory.current`; in cgroup version 1 \
      `memory.usage_in_bytes`).
      """)
      .listed(8, as: "groupBytes", .bytes, """
      memory use of the control group
      """, attribute: "postmortem.memory.group")
    case .memoryLimit: .unsigned(8, """
      Memory limit of the cgroup in bytes (`memory.max`; in cgroup version 1 `memory.limit_in_bytes`). \
      Missing if there is no limit.
      """)
      .listed(9, as: "groupLimitBytes", .bytes, """
      the memory limit of the control group; null if there is no limit
      """, attribute: "postmortem.memory.group.limit")
    case .tasksUsed: .unsigned(8, "Number of tasks in the cgroup (`pids.current`).")
    case .tasksLimit: .unsigned(8, """
      Limit on the number of tasks in the cgroup (`pids.max`). Missing if there is no limit.
      """)
    case .cgroup:
      .text("""
      Path of the memory cgroup at launch, from `/proc/self/cgroup`; at most 1 KiB. Missing if \
      `HandlerOptions.capturesSurroundings` is off.
      """).shown(in: .resources, as: "controlGroup")
    case .dumpDigest: .unsigned(8, """
      Digest of the intermediate dump from which the report was made, computed with FNV-1a over words \
      of eight bytes. With this digest, the converter recognizes whether a pending dump with the \
      report's ID is the same dump. Only in a minidump.
      """)
    case .privacy: .unsigned(1, """
      The level at which secrets were left out, at the crash or later: \
      \(ReportPrivacy.sanitized.rawValue) `ReportPrivacy.sanitized`, \
      \(ReportPrivacy.noMemory.rawValue) `ReportPrivacy.noMemory`. Missing if nothing was left out.
      """).shown(in: .report, as: "privacy")
    case .processStart: .unsigned(8, """
      Start of the process (its fork, not its exec), in hundredths of a second since boot: field 22 of \
      `/proc/self/stat`.
      """)
    case .oomScoreAdjustment: .signed(4, """
      `/proc/self/oom_score_adj` at the crash: -1000 to 1000. The higher the number, the sooner the \
      kernel kills the process when memory runs out. Only in a minidump.
      """).shown(in: .resources, as: "oomScoreAdjustment", "OOM score")
    case .mappingLimitText: .text("`/proc/sys/vm/max_map_count` at the crash, without the line's end.")
    case .oomScoreText: .text("`/proc/self/oom_score_adj` at the crash, without the line's end.")
    case .resourceUsage: .bytes(144, """
      `struct rusage` of the process at the crash: the CPU times of all threads in user mode and in the kernel, each in \
      seconds and microseconds of 8 bytes, then 14 numbers of 8 bytes. Source: getrusage(2).
      """)
    case .system: .map("The kernel, the machine and the operating system.")
    case .kernelName: .text("`uname -s`.").shown(in: .system, as: "kernelName")
    case .kernelRelease: .text("`uname -r`.").shown(in: .system, as: "kernelRelease")
      .listed(42, as: "kernel", .word, "the kernel's release, as printed by `uname -r`", attribute: "os.version")
    case .kernelVersion: .text("`uname -v`.").shown(in: .system, as: "kernelVersion")
    case .machine: .text("`uname -m`.").shown(in: .system, as: "machine")
    case .distribution: .text("PRETTY_NAME of os-release(5).").shown(in: .system, as: "distribution")
      .listed(41, as: "os", .word, "name and version of the Linux distribution", attribute: "os.description")
    case .processorCount: .unsigned(4, "Processors online. Only in a minidump.").shown(in: .system, as: "processorCount")
    case .pageSize: .unsigned(8, "Size of a page, in bytes.").shown(in: .system, as: "pageSize")
    case .bootID: .text("`/proc/sys/kernel/random/boot_id`, without the newline.").shown(in: .system, as: "bootID")
    case .libraryVersion: .text("The C library and its version.").shown(in: .system, as: "libraryVersion")
    case .loadAverage: .text("`/proc/loadavg` at the crash, without the newline.")
    case .processorModel: .text("""
      `model name` of `/proc/cpuinfo`. Only in a minidump.
      """).shown(in: .system, as: "processorModel")
    case .processorText: .text("The entry of the first processor in `/proc/cpuinfo` at the crash, cut at 4 KiB.")
    case .releaseText: .text("os-release(5) at launch; at most 4 KiB.")
    case .processorList: .text("""
      `/sys/devices/system/cpu/online` at the crash, such as `0-3,8`, without the line's end; at most 1 KiB.
      """)
    case .compiler:
      .text("""
        Name and version of the C compiler of the toolchain that built the handler.
        """).shown(in: .system, as: "compiler")
    case .swiftVersion: .text("Version of the Swift compiler that built the handler, such as \"6.3\".").shown(in: .system, as: "swiftVersion")
    case .exception: .map("""
      The crash. In a dump of a process that did not crash (`dumpRequest`), this map contains only the \
      thread's ID.
      """)
    case .exceptionThreadID: .unsigned(4, """
      Kernel ID of the thread that took the signal. In a dump without a crash, kernel ID of the thread \
      that the dump is about. This is the first property of `exception`.
      """).shown(in: .exception, as: "threadID")
    case .signalNumber: .signed(4, "The signal.").shown(in: .exception, .end, as: "signal")
    case .signalCode: .signed(4, "`si_code`.").shown(in: .exception, as: "code")
    case .faultAddress: .address("`si_addr`; only for signals that set it.").shown(in: .exception, as: "address")
    case .signalInfo: .bytes(128, "The kernel's siginfo_t.")
    case .fatalMessage: .text("Last message of the Swift runtime.")
    case .abortMessage: .text("Last message of the C library.")
    case .trapNumber: .unsigned(8, "x86 only: the trap's number.")
    case .trapErrorCode:
      .unsigned(8, "x86: the error code of the page fault. arm64: the exception syndrome (ESR).")
    case .faultPage: .unsigned(8, """
      Entry in `/proc/self/pagemap` of the page at `faultAddress`, for a SIGSEGV with SEGV_MAPERR. Bit \
      58 is set if the page is in a guard region.
      """)
    case .threads: .array("All threads except the one that took the signal.")
    case .thread: .map("One thread.")
    case .threadID: .unsigned(4, "Kernel ID of the thread.").shown(in: .thread, as: "id")
    case .threadName: .text("""
      Name of the thread at the crash, in any encoding: field 2 of proc_pid_stat(5).
      """).shown(in: .thread, as: "name")
    case .threadState: .unsigned(1, """
      State letter of proc(5), as a character code, from before the thread was asked to stop.
      """).shown(in: .thread, as: "state")
    case .captureMethod: .code(CaptureMethod.self, "Source of the registers").shown(in: .thread, as: "capturedBy")
    case .generalRegisters: .bytes("""
      x86_64: 23 registers of 8 bytes in the order of gregset_t (r8 to r15, rdi, rsi, rbp, rbx, rdx, \
      rax, rcx, rsp, rip, eflags, cs/gs/fs/ss, err, trapno, oldmask, cr2); a minidump has only the \
      first 19. arm64: x0 to x30, sp, pc, pstate, 8 bytes each.
      """)
    case .floatingPointState: .bytes("""
      x86_64: for the thread that crashed, the XSAVE area, whose first 512 bytes are the FXSAVE area; \
      for other threads, only these 512 bytes. arm64: `struct fpsimd_context`, 528 bytes. A minidump \
      has the XSAVE areas of the first threads, up to 8 MiB, and the first 512 bytes for the other \
      threads.
      """)
    case .threadPointer:
      .address("The thread control block: base of fs on x86_64, tpidr_el0 on arm64.")
    case .threadStackPointer:
      .address("""
      The stack pointer. An intermediate dump has this key only if `generalRegisters` does not contain \
      the stack pointer.
      """)
    case .threadInstructionPointer:
      .address("""
      The instruction pointer. An intermediate dump has this key only if `generalRegisters` does not \
      contain the instruction pointer.
      """)
    case .stack: .array("""
      The captured stack: `memoryRegion` maps with ascending addresses. In the first map of \
      `crashingThread`, this is the memory at the stack pointer and at the frame pointer; bytes outside \
      `stackRegionStart` to `stackRegionEnd` do not belong to the stack. If the thread crashed in a \
      signal handler on its alternate stack, a second array has the stack that the handler interrupted, \
      after this stack's own `stackRegionStart` and `stackRegionEnd`; the first ones are the thread's.
      """)
    case .stackRegionStart: .address("Start of the mapping that contains the stack pointer.")
    case .stackRegionEnd: .address("End of the mapping that contains the stack pointer, exclusive.")
    case .stackBytesOmitted: .unsigned(8, """
      Number of bytes of the stack that were left out because of a limit.
      """).shown(in: .thread, as: "stackBytesOmitted")
    case .blockedSignals: .address("Signal mask: bit n - 1 for signal n.")
    case .crashingThread: .map("""
      The thread that took the signal, or that the dump is about; the same contents as `thread`. The \
      thread is written as two maps with different bytes of the stack. The first map contains the \
      registers and the top of the stack. There is only one map for a hung thread.
      """)
    case .schedulingPolicy: .code(SchedulingPolicy.self, """
      The scheduling policy, as in sched_getscheduler(2)
      """).shown(in: .thread, as: "schedulingPolicy")
    case .niceValue: .signed(4, "The nice value of getpriority(2): -20 to 19.").shown(in: .thread, as: "niceValue")
    case .systemCall: .text("""
      The system call in which the thread was blocked, in the format of proc_pid_syscall(5); at most \
      192 bytes. Only the number if the arguments are not known. Written only for the first 512 \
      threads.
      """)
    case .threadFrames: .bytes("""
      The frames of a thread whose memory was left out (`privacy` 2), innermost first; sizes in bytes \
      are in parentheses. A header of 16 bytes contains how the walk ended (1; \(StoredStackEnd.list)), \
      whether the chain of asynchronous callers is cut (1), whether there is such a chain (1), padding \
      (1), the number of asynchronous callers (4), the number of frames (4), padding (4). The header is \
      followed by 8 bytes for each asynchronous caller: the address at which the caller continues. Then \
      18 bytes follow for each frame: address (8), stack pointer or 0 (8), 1 for a return address (1), \
      how it was found (1; \(StoredTrust.list)). Only in a minidump.
      """)
    case .threadProcessorTime: .unsigned(8, """
      In `crashingThread`: CPU time of this thread alone, in user mode and in the kernel together, in \
      nanoseconds (CLOCK_THREAD_CPUTIME_ID), when the value is written. Missing if one thread writes a \
      dump about another thread.
      """).shown(in: .thread, as: "processorNanoseconds", "CPU time", unit: .nanoseconds)
    case .stackWords: .bytes("""
      Words of the crashing thread's stack, instead of its memory; sizes in bytes are in parentheses. Only in \
      a log, where `crashingThread` and this key may occur any number of times. The words are in groups of a head \
      (4) and the words (8 each). The low 2 bits of the head are the number of words, 1 to 3; the other bits are \
      the distance in words from the stack pointer, rounded down to a multiple of 8. Two words are a frame record, three \
      are registers that a signal frame has.
      """)
    case .memory: .array("""
      Memory outside stacks: `memoryRegion` maps. This array may occur more than once; a reader uses the \
      maps of all occurrences. Not in a minidump. For each of at most 256 threads that wait in futex(2), \
      the array contains the 16 bytes before the futex word and 40 bytes from the word on. For each \
      thread that waits in `DispatchQueue.sync`, the array contains 96 bytes of the queue and of up to 3 \
      target queues, and 64 bytes of each queue's label.
      """)
    case .memoryRegion: .map("A contiguous block of memory.")
    case .regionAddress: .address("Address of the block's first byte.")
    case .regionData: .bytes("""
      The bytes. Missing if the bytes could not be read. Also missing in a minidump, whose memory list \
      contains the bytes.
      """)
    case .regionSize: .unsigned(8, "Number of bytes that were requested.")
    case .mappings: .array("""
      The text of `/proc/self/maps`, cut into pieces at arbitrary bytes: `mappingsChunk` maps, which \
      a reader joins. With more than 65,536 mappings, or more than 7 MiB of text, lines are left out: of \
      mappings without a path that are more than 1 MiB from the stack pointer first.
      """)
    case .mappingsChunk: .map("One piece.")
    case .mappingsText: .text("Its text.")
    case .modules: .array("ELF images: `module` maps.")
    case .module: .map("One image.")
    case .moduleAddress:
      .address("Address of the lowest loaded page. This page contains the ELF header if the header is loaded.")
    case .modulePath: .text("""
      Path as in `/proc/thread-self/maps`, which may end in " (deleted)"; the path of the vDSO is \
      `[vdso]`.
      """)
    case .moduleBuildID: .bytes("The GNU build ID; missing if the image has none.")
    case .moduleProgramHeaders: .bytes("""
      The Elf64_Phdr entries, 56 bytes each; in a minidump only those of loaded segments.
      """)
    case .moduleSize: .unsigned(8, """
      Number of bytes from the header to the end of the last loaded segment. If this key is missing, a \
      reader computes the number from the program headers.
      """)
    case .moduleSource: .code(ModuleSource.self, "How the image was found", """
      The program and the vDSO were found through the kernel's auxiliary vector, the other images \
      through the dynamic linker's list or an ELF header at the start of a mapping.
      """)
    case .annotations: .array("Annotations passed to startHandler: `annotation` maps.")
    case .annotation: .map("One name and its value.")
    case .annotationName: .text("The name.").shown(in: .annotation, as: "name")
    case .annotationValue: .text("The value.")
    case .capture: .map("Completeness and duration of the capture.")
    case .threadsFound: .unsigned(8, """
      Number of threads of the process, without those that ended during the capture and without \
      `threadsOmitted`.
      """).shown(in: .capture, as: "threadsFound")
      .listed(10, as: "threads", .integer, "number of threads of the process")
    case .threadsStopped: .unsigned(8, """
      Number of threads that were stopped when they were read.
      """).shown(in: .capture, as: "threadsStopped")
    case .threadsReadFromKernel:
      .unsigned(8, """
      Number of threads whose stack pointer and instruction pointer were read from the kernel.
      """).shown(in: .capture, as: "threadsReadFromKernel")
    case .threadsOmitted:
      .unsigned(8, """
      Number of threads beyond the limit: the handler counted these threads, but did not write them.
      """).shown(in: .capture, as: "threadsOmitted")
    // `SectionTests` reads the list of sections below from IntermediateDumpFormat.md, and compares it with `Section`.
    case .sectionsAbandoned: .unsigned(8, """
      Bit n is set if section n was left out at the time limit, or ended early because of the time \
      limit or a fault in the handler. Sections: 1 exception, 2 stopping the threads, 3 reading the \
      mappings, 4 the rest of the crashing thread, 5 process, 6 mappings, 7 modules, 8 system and \
      annotations, 9 other threads, 10 capture, 11 resources, 12 link map, 16 client data, 17 extra \
      memory, 18 C++ exception, 19 tasks, 20 registers and top of the stack of the crashing thread, \
      21 contexts, 22 throws, 23 surroundings, 24 memory behind pointers, 25 objects. After the end \
      mark: 13 crash summary, 14 crash summary on standard error, 15 removing the dumps of hangs. \
      The handler never sets bits 10 and 13 to 15, because these sections end after this property is \
      written. A reader sets bit 10 if the property is missing.
      """).shown(in: .capture, as: "sectionsAbandoned")
    case .captureTime: .unsigned(8, "Nanoseconds from the handler's entry until this map is written.").shown(in: .capture, as: "captureNanoseconds")
    case .bytesOmitted: .unsigned(8, """
      Number of bytes that were left out because of the size limit.
      """).shown(in: .capture, as: "bytesOmitted")
    case .isIncomplete: .unsigned(1, "1 if the dump was truncated. Only in a minidump.")
    case .damage:
      .text("Where a truncated dump is damaged, and why. Only in a minidump.").shown(in: .capture, as: "damage")
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
    case .modulesOmitted:
      .unsigned(8, """
        Number of images of the dynamic linker's list for which the handler's table of 4,096 has no room.
        """)
    case .isCoreFile:
      .unsigned(1, """
        1 if the report was made from a core file. Only in a minidump.
        """).shown(in: .capture, as: "coreFile")
    case .notShown: .unsigned(8, """
      A bit for each part of `/proc` that could not be read, and whose data is therefore unknown (not empty): \
      \(NotShown.allCases.map { "\($0.rawValue) \($0.name)" }.joined(separator: ", ")). Missing if all parts could be read.
      """).shown(in: .capture, as: "notShown")
    case .owner: .map("The process that made the run record. Only in a run record.")
    case .ownerProcessID: .unsigned(4, "Process ID.")
    case .ownerStartTime:
      .unsigned(8, "Clock ticks from boot to the start of the process: field 22 of proc_pid_stat(5).")
    case .ownerStackStart: .address("""
      Start of the main thread's stack: field 28 of proc_pid_stat(5), which exec changes. 0 if the \
      kernel does not show this field.
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
    case .linkDebugAddress: .address("Address of the `struct r_debug`.")
    case .dynamicSection: .address("Address of the executable's dynamic section.")
    case .dynamicData: .bytes("Contents of the executable's dynamic section; at most 4 KiB.")
    case .linkEntries: .array("`linkEntry` maps in list order; at most 2,048.")
    case .linkEntry: .map("One `struct link_map`.")
    case .linkAddress: .address("`l_addr`: difference between addresses in the file and in memory.")
    case .linkDynamic: .address("`l_ld`.")
    case .linkName: .text("`l_name`; empty for the executable. At most 4 KiB.")
    case .survival: .map("""
      What happened to the process after the dump, and the crashes that it survived before. Missing if \
      this is the first crash of the process and the default action ends the process.
      """)
    case .survivalOutcome: .code(SurvivalOutcome.self, "What followed the dump", """
      1: a handler that was installed earlier runs after the dump, or a handler that was installed \
      later and called this one continues. 2 replaces 1 in the finished dump, if the file still \
      exists, once it is known that the process survived. 4 replaces 1 if the handler ends the process \
      by `exit`, by `abort`, or by another signal that it sends to itself and that gets no separate \
      dump. \(SurvivalOutcome.endedCode) replaces another value if `abort` ends the first process of a \
      PID namespace. Missing if the default action follows, at once or after Swift's backtracer.
      """).shown(in: .survival, as: "outcome")
    case .previousHandler: .address("""
      Address of the previous handler, if that handler runs.
      """).shown(in: .survival, as: "previousHandler")
    case .previousHandlerIsBacktracer: .unsigned(1, """
      1 if the previous handler is Swift's backtracer, in a shared or a statically linked runtime. \
      Missing for other handlers.
      """).shown(in: .survival, as: "previousHandlerIsBacktracer")
    case .survivedCrashes:
      .unsigned(4, """
      Number of earlier crashes of this process that have separate dumps.
      """).shown(in: .survival, as: "survivedCrashes")
    case .precedingReport: .bytes(16, """
      Report ID of the last earlier crash that has a separate dump.
      """).shown(in: .survival, as: "precedingReport")
    case .continuesReport: .bytes(16, """
      In a run record, inside `owner`: the report ID of the preceding crash, which the process may \
      survive. This run record belongs to the locked file for the next crash. If that file stays empty, \
      the preceding crash ended the process, or the process ended later without another crash. In both \
      cases, no report says how the run ended.
      """)
    case .ownerCrashSignals: .address("""
      In a run record, inside `owner`: the crash signals that are handled; bit n - 1 stands for signal \
      n.
      """)
    case .ownerStopSignal:
      .unsigned(4, "In a run record, inside `owner`: the signal that stops threads; 0 for none.")
    case .ownerWatchdogSignal: .unsigned(4, """
      In a run record, inside `owner`: the signal that limits the handler's time; 0 for none.
      """)
    case .ownerTimeNamespace: .unsigned(8, """
      In a run record, inside `owner`: inode of `/proc/self/ns/time`, the time namespace in which \
      `ownerStartTime` was read; 0 if it was not known.
      """)
    case .ownerIsMapped: .unsigned(1, """
      In a run record, inside `owner`: 1 if the owner keeps this file mapped, and found at launch that \
      the mapping prevents a read lease on the file. If a lease is granted later, the owner is dead.
      """)
    case .ownerTakesRequests: .unsigned(1, """
      In a run record, inside `owner`: 1 if the owner takes dumps on request. The request is \
      `ownerStopSignal`, queued with a `CaptureRequest`; the owner then takes a dump and continues.
      """)
    case .ownerToldStacks: .address("""
      In a run record, inside `owner`: the address, in the owner's memory, of a table of its threads' \
      alternate stacks. The table has 8192 entries of thread ID, base and size, 8 bytes each. Bit 63 of \
      the size is set for a stack of the handler. A process that requests a dump uses this table to find \
      a thread whose alternate stack has enough room.
      """)
    case .dumpRequest: .map("""
      Why the dump was taken, if the process did not crash; `exception` then contains only the \
      thread's ID. Missing for a crash.
      """)
    case .requestKind: .code(RequestKind.self, "Who asked for the dump").shown(in: .request, as: "kind")
    case .requestReason: .text("""
      The reason that the program gave for the dump; at most 512 bytes.
      """).shown(in: .request, as: "reason")
    case .requestErrorType:
      .text("The type of the error that the program passed; at most 256 bytes.").shown(in: .request, as: "errorType")
      .listed(34)
    case .requestErrorText: .text("""
      The error that the program passed, as text; at most 1024 bytes.
      """).shown(in: .request, as: "errorText")
    case .hangTarget: .code(HangTarget.self, "The part that hung").shown(in: .request, as: "target")
    case .hangName: .text("""
      The program's name for the part that hung; at most 128 bytes.
      """).shown(in: .request, as: "name")
    case .hangThreshold:
      .unsigned(8, """
      Nanoseconds without an answer after which the watched part counts as hung.
      """).shown(in: .request, as: "thresholdNanoseconds")
    case .hangTime: .unsigned(8, """
      Nanoseconds without an answer so far; time in which the whole process was stopped does not \
      count. The value is updated in the finished dump while the hang lasts.
      """).shown(in: .request, as: "hangNanoseconds")
      .listed(5, as: "hangSeconds", .seconds, "the duration of a hang", attribute: "postmortem.hang.duration")
    case .hangProcessorTime: .unsigned(8, """
      Nanoseconds of CPU time that the thread in `exception` has used during the hang, updated like \
      `hangTime`. Missing if no thread is known.
      """).shown(in: .request, as: "processorNanoseconds")
    case .hangThreadEvidence: .code(HangThreadEvidence.self, "Certainty that the thread in `exception` hung", """
      If the value is 3, this thread is the monitor's.
      """).shown(in: .request, as: "threadEvidence")
    case .client: .map("""
      Counts of client data that did not fit or is missing; a value of 0 is left out. The data itself \
      is in `annotationObjects`, `simpleAnnotations`, `breadcrumbs` and similar keys. This map may \
      occur more than once; a reader merges the maps.
      """)
    case .annotationsOmitted: .unsigned(8, """
      Number of annotations that did not fit.
      """).shown(in: .client, as: "annotationsOmitted")
    case .simpleAnnotationsOmitted: .unsigned(8, """
      Number of simple annotations that did not fit.
      """).shown(in: .client, as: "simpleAnnotationsOmitted")
    case .breadcrumbsLeft: .unsigned(8, """
      Total number of breadcrumbs that the program recorded.
      """).shown(in: .client, as: "breadcrumbsLeft")
    case .breadcrumbsOmitted:
      .unsigned(8, """
      How many of the last 128 breadcrumbs are missing, because they were being written or could not \
      be written.
      """).shown(in: .client, as: "breadcrumbsOmitted")
    case .memoryRangesOmitted: .unsigned(8, """
      Number of memory ranges that did not fit.
      """).shown(in: .client, as: "memoryRangesOmitted")
    case .memoryBytesOmitted: .unsigned(8, """
      Number of bytes of extra memory beyond the limit.
      """).shown(in: .client, as: "memoryBytesOmitted")
    case .attachmentsOmitted: .unsigned(8, """
      Number of attachments that did not fit.
      """).shown(in: .client, as: "attachmentsOmitted")
    case .contextsOmitted: .unsigned(8, """
      Number of contexts that did not fit, for the threads in `contexts`.
      """).shown(in: .client, as: "contextsOmitted")
    case .annotationObjects:
      .array("The program's annotations with typed values: `annotationObject` maps; at most 400.")
    case .annotationObject: .map("One annotation; its name is in `annotationName`.")
    case .annotationType: .code(AnnotationType.self, "Type of the value", """
      A double is an IEEE 754 number; a bool of 0 is false.
      """).shown(in: .annotation, as: "type")
    case .annotationData: .bytes("""
      The value: text of at most 20,480 bytes, otherwise 8 bytes. Missing if the value could not be \
      read.
      """)
    case .annotationState: .code(AnnotationState.self, """
      State of the value, if it is not simply the last value that was set
      """, """
      1: a newer value was being written, and this is the previous value. 2: the writing of a newer \
      value was abandoned. 3: the value could not be read because it changed constantly or was \
      overwritten.
      """).shown(in: .annotation, as: "state")
    case .simpleAnnotations: .array("""
      Simple annotations that were set after launch: `annotation` maps, with `annotationState`; at \
      most 64. These replace `annotations` of the same name.
      """)
    case .breadcrumbs:
      .array("The program's breadcrumbs, oldest first: `breadcrumb` maps; at most 128.")
    case .breadcrumb: .map("One note.")
    case .breadcrumbTime: .time("""
      Wall-clock time of the breadcrumb. Only in a minidump.
      """).shown(in: .breadcrumb, as: "time")
    case .breadcrumbUptime: .unsigned(8, "CLOCK_BOOTTIME of the breadcrumb, in nanoseconds.")
    case .breadcrumbThreadID: .unsigned(4, """
      Kernel ID of the thread that recorded the breadcrumb.
      """).shown(in: .breadcrumb, as: "threadID")
    case .breadcrumbText: .text("Text of the breadcrumb; at most 224 bytes.").shown(in: .breadcrumb, as: "text")
    case .breadcrumbLevel: .code(BreadcrumbLevel.self, "Level of the breadcrumb", """
      Missing if the breadcrumb has no level.
      """).shown(in: .breadcrumb, as: "level")
    case .breadcrumbMetadata: .text("""
      Metadata of the breadcrumb: alternately names and values, each with a NUL at the end; at most \
      224 bytes together with the text. Missing if there is no metadata.
      """).shown(in: .breadcrumb, as: "metadata")
    case .extraMemory: .array("""
      Memory that the program added: `memoryRegion` maps of at most 128 KiB each. Adjacent maps belong \
      to one range.
      """)
    case .attachments: .array("Files that are copied with the report: `attachment` maps; at most 16.")
    case .attachment: .map("One file.")
    case .attachmentPath: .text("Absolute path of the file; at most 1,024 bytes.").shown(in: .attachment, as: "path")
    case .attachmentName: .text("""
      Name of the copy. This key and the next three are only in a minidump.
      """).shown(in: .attachment, as: "name")
    case .attachmentSize: .unsigned(8, "Number of bytes that were copied.").shown(in: .attachment, as: "size")
    case .attachmentBytesOmitted: .unsigned(8, """
      Number of bytes at the beginning of the file that were not copied.
      """).shown(in: .attachment, as: "bytesOmitted")
    case .attachmentFailure: .text("Why the file was not copied.").shown(in: .attachment, as: "failure")
    case .userStreamFailures: .array("""
      Streams that the converting program could not add: `userStreamFailure` maps. Only in a minidump.
      """)
    case .userStreamFailure: .map("One such stream.")
    case .userStreamReason: .text("Name of the stream, and the error; at most 1,024 characters.")
    case .ownerNotes: .bytes(32, """
      In a run record, the first property inside `owner`, with its value at byte 42 of the file. The \
      process notes here how it ends; sizes in bytes are in parentheses. The end (4; \(NotedEnd.list); \
      2 for `_exit`, `_Exit` or `quick_exit`), padding (4), the first signal that asked the process to \
      end (4), what followed that signal (4; \(NotedReaction.list); 2 for the first process of a PID \
      namespace, 3 if the program reported the signal), the time of the signal (8, nanoseconds since \
      1970), padding (8). 0 stands for an unset value. Missing if the program turned off reports on \
      how runs end.
      """)
    case .ownerHeartbeat: .bytes(2_048, """
      In a run record, the second property inside `owner`: the size (4 bytes) of a separate document \
      with one `runEvidence`, then that document, then zeros. Each heartbeat overwrites the value. \
      Before the first heartbeat, all bytes are 0.
      """)
    case .ownerFollowsExits: .unsigned(1, "In a run record: 1 if the process notes an end by `_exit`.")
    case .runEvidence: .map("""
      Memory and kill counters at a process's launch (in a run record, inside `owner`) or at its last \
      heartbeat.
      """)
    case .evidenceTime:
      .time("""
      Time at which the values in this map were read. The map also contains `cgroup`, `memoryUsed` and \
      `memoryLimit`.
      """)
    case .evidenceUptime: .unsigned(8, "Nanoseconds from boot to `evidenceTime`, including suspended time.")
    case .evidenceMachineKills: .unsigned(8, """
      Number of processes that the kernel has killed since boot because memory ran out: `oom_kill` \
      of `/proc/vmstat`.
      """)
    case .evidenceGroupKills:
      .unsigned(8, """
      Number of processes in the memory cgroup that the kernel has killed because memory ran out, from \
      `memory.events` or `memory.oom_control`.
      """)
    case .evidenceGroupProcesses: .unsigned(8, "Number of processes in the memory cgroup.")
    case .evidenceResidentMemory: .unsigned(8, "Memory of the process in bytes.")
    case .evidenceMachineMemory: .unsigned(8, "Memory of the machine in bytes.")
    case .evidenceAvailableMemory: .unsigned(8, "Available memory of the machine in bytes.")
    case .evidenceLockedFiles:
      .text("Paths of files that the process had locked, one on each line; at most 8.")
    case .evidenceHangReport: .bytes(16, """
      The report ID of a hang that had not ended yet.
      """)
    case .runEnd:
      .map("How the run ended, if it left no dump of its end. In `dumpRequest`, how it ended during the hang. Only in a minidump.")
    case .runEndKind: .code(RunEndKind.self, "How the run ended", """
      The same map contains `signalNumber`.
      """).shown(in: .end, as: "kind")
    case .runEndCertainty: .code(RunEndCertainty.self, "Certainty of `runEndKind`").shown(in: .end, as: "certainty")
    case .runEndEvidence: .text("The evidence, one sentence on each line.").shown(in: .end, as: "evidence")
    case .contexts: .array("""
      The values of `withContext` that were in effect on each thread, outermost first: `context` maps. \
      If a name occurs twice, a reader uses the last value. At most 4,096 threads, the crashing thread \
      first.
      """)
    case .context: .map("One value.")
    case .contextThreadID: .unsigned(4, "Kernel ID of the thread that was in the context.")
    case .contextName: .text("Name of the context; at most 64 bytes.").shown(in: .context, as: "name")
    case .contextValue: .text("""
      Value of the context; at most 232 bytes together with the thread's other contexts.
      """).shown(in: .context, as: "value")
    case .contextIsCut: .unsigned(1, "1 if `contextValue` was cut.").shown(in: .context, as: "cut")
    case .workBreadcrumbs: .array("""
      Breadcrumbs of the crashing thread's work: `breadcrumb` maps. There are at most two groups: the \
      last 16 of the thread's context, and the last 16 of its task or, outside of a task, of the \
      thread. A breadcrumb may be in `breadcrumbs` too.
      """)
    case .openContexts: .bytes("""
      Table of the `withContext` calls that had begun and not ended, at most 65,088 bytes. In \
      `runEvidence`, a table with one entry, the oldest. Bytes 0 to 7: the number of shards, 0 for 8. \
      Bytes 8 to 15: the size of the part that was used. At 64, for each shard 64 bytes: a bit for each \
      of its entries in use (8), the number of open outermost calls without an entry (8), and of other \
      calls (8). Then 63 entries of 128 bytes for each shard, in turn: a checksum (8), the number of the \
      unit of work (8), the size of the text (2), the number of values left out (2), zeros (4), the \
      text (96), and the CLOCK_BOOTTIME of the beginning in nanoseconds (8, the highest bit is set if \
      the call was inside another). The text has for each value the length of the name (the highest bit \
      is set if the value was cut), the length of the value, the name and the value. An entry without \
      its bit or with a wrong checksum is not used.
      """)
    case .throwRecords: .array("""
      Places where Swift errors were thrown: `throwRecord` maps; the last 4 of the crashing thread, \
      then the last 16 of other threads, newest first. Written only if \
      `HandlerOptions.recordsThrowSites` is on.
      """)
    case .throwRecord: .map("One.")
    case .throwThreadID: .unsigned(4, "Kernel ID of the thread that threw the error.")
    case .throwUptime: .unsigned(8, "CLOCK_BOOTTIME of the throw, in nanoseconds.")
    case .throwError: .address("Address of the error's box. Missing for an error of a typed throw, which has no box.")
    case .throwAddresses: .bytes("""
      Up to 8 return addresses of 8 bytes, innermost first: into the caller of the hook, into the \
      function that threw the error, and into that function's callers. The callers are found by \
      following frame pointers.
      """)
    case .tasks: .array("""
      Tasks of Swift concurrency that threads ran: `task` maps; at most 256, the crashing thread's \
      task first. The memory of the tasks is in `memory`: 512 bytes of each task, and the slabs that \
      contain its function frames (the last 64 slabs of the first task and the last 8 of each other \
      task, at most 16 KiB each).
      """)
    case .task: .map("One task.")
    case .taskThreadID: .unsigned(4, "Kernel ID of the thread that ran the task.")
    case .taskAddress: .address("Address of the task object.")
    case .taskLayoutVersion:
      .unsigned(4, """
      `_swift_concurrency_debug_internal_layout_version` of the runtime. Outside `task`, the version of a \
      layout that is not known, so that the memory was not searched for tasks.
      """)
    case .cxxException: .map("""
      The C++ exception that the thread caught last before a SIGABRT. An uncaught exception counts \
      as caught by std::terminate(). Only exceptions of libstdc++ are read.
      """)
    case .cxxTypeName: .text("Linkage name of the exception's type; at most 1 KiB.")
    case .cxxMessage: .text("""
      Text of the exception, if its type is derived from std::runtime_error or std::logic_error, or is \
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
    case .hostName: .text("""
      In `system`: `uname -n` at launch. Missing if `HandlerOptions.capturesSurroundings` is off or \
      `privacy` is not `full`.
      """).shown(in: .system, as: "hostName")
      .listed(35, as: "host", .word, "the machine's name, as printed by `uname -n`", attribute: "host.name")
    case .containerMount: .text("""
      In `system`, if `cgroup` is `/` or missing: the file that is mounted at `/run/.containerenv` or, \
      without such a mount, at `/etc/hostname`. The value is read from `/proc/self/mountinfo` at the \
      crash; at most 512 bytes.
      """)
    case .timeZone: .text("""
      In `system`, at launch: TZ or, if TZ is not set, the target of `/etc/localtime`; at \
      most 256 bytes. Missing if `HandlerOptions.capturesSurroundings` is off or `privacy` is not `full`.
      """)
    case .workingDirectory: .text("""
      In `process`: `/proc/thread-self/cwd` at the crash. Missing if `HandlerOptions.capturesSurroundings` is \
      off or `privacy` is not `full`.
      """).shown(in: .process, as: "workingDirectory")
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
      Text of the link in `/proc/self/fd`, without the mark of a deleted file; at most 512 bytes. If \
      `HandlerOptions.capturesSurroundings` is off or `privacy` is not `full`, only sockets, pipes and \
      anonymous inodes have this key.
      """).shown(in: .descriptor, as: "path")
    case .descriptorPathIsCut: .unsigned(1, "1 if `descriptorPath` was cut.").shown(in: .descriptor, as: "cut")
    case .descriptorIsDeleted: .unsigned(1, """
      1 if the link ends in ` (deleted)`, because the file no longer has a name.
      """).shown(in: .descriptor, as: "deleted")
    case .allTasks: .bytes("""
      The tasks of Swift concurrency that a search of the process's memory found, whether or not a \
      thread ran them, in numbers of 8 bytes. In dumps of hangs and of dumpWithoutCrash, and in \
      reports of core files and of postmortem capture. Five numbers come first: the tasks that had not ended, the timers of \
      Task.sleep among other tasks, the bytes of memory that were searched and those that were not, and \
      the number of groups. Tasks of a group are in the same state and continue in the same functions; \
      the largest group comes first. Each group begins with five numbers: its state \
      (\(TaskState.list)), the number of its tasks and of those that were canceled, the number of \
      addresses, and the number of records. Up to 16 addresses follow: where the tasks and their \
      suspended callers continue, innermost first. A record is one of the tasks with the lowest IDs, or \
      one of a cycle of tasks that wait for each other, in four numbers: its ID, the ID of its parent, \
      the ID of the task that it waits for (0 for none or an unknown one; for a task group, its only \
      task), and the runtime's flags (lower half) and status (upper half). After the last group, units \
      of work follow for each group: their number, and for each the ID of its oldest task and the \
      number of the unit as in openContexts. After the units, names of tasks follow for each group: their \
      number, and for each the ID of the task, the number of bytes, and the text, filled up to 8 bytes.
      """)
    case .fileLocks: .array("""
      Threads that waited for the lock of a file, and whose lock's holder is known: `fileLock` maps. In \
      dumps of hangs and of dumpWithoutCrash, and in reports of postmortem capture.
      """)
    case .fileLock: .map("One wait.")
    case .fileLockThreadID: .unsigned(4, "Kernel ID of the thread that waited.")
    case .fileLockHolder: .unsigned(4, """
      ID of the process that held the lock, from `/proc/locks`; for postmortem capture, in the PID \
      namespace of the command.
      """)
    case .fileLockHolderName: .text("`/proc/<pid>/comm` of the process that held the lock.")
    case .conversion: .map("""
      Data that the converter added. This key and all following keys occur only in a minidump. The map \
      also contains `annotations`, which replace all other annotations of the same name.
      """)
    case .clientID: .bytes(16, "The client ID of the database.")
      .listed(43, as: "clientID", .text, "the database's client ID, one for each installation", attribute: "service.instance.id")
    case .symbols: .array("""
      Functions at addresses on the crashing thread's stack, found at conversion: \
      `symbol` maps.
      """)
    case .symbol: .map("One address.")
    case .symbolAddress:
      .address("The address. For a return address, an address inside the call instruction.")
    case .functions: .array("The functions at the address, innermost first: `function` maps.")
    case .function: .map("One function.")
    case .functionName:
      .text("Name in the symbol table or in the debug information; empty if it is not known.")
    case .functionOffset: .unsigned(8, """
      Bytes from the function's start to the frame's address. Missing for an inlined function.
      """)
    case .isInlined: .unsigned(1, "1 if the function was inlined into the next function.")
    case .sourceFile: .text("The source file's path.")
    case .sourceLine: .unsigned(4, "The number of the line; the first line is 1.")
    case .sourceColumn: .unsigned(4, "The number of the column; the first column is 1.")
    case .isLineApproximate: .unsigned(1, """
      1 if the debug information has no line for the code; `sourceLine` is then the last line before \
      it.
      """)
    case .verdict: .map("The main results of the analysis at conversion. Missing if the conversion did not find all names.")
    case .verdictCause: .text("The word for the cause. Missing if no cause was found.")
    case .verdictCertainty: .code(FindingCertainty.self, "How certain the cause is")
    case .verdictMessage: .text("The message, as reports show it.")
    case .verdictSignature: .text("The signature.")
    case .verdictPlace: .text("The place, with the names and lines that the conversion found.")
    }
  }
}
