package import IntermediateDump

extension IntermediateDumpKey {
  package var kind: IntermediateDumpKeyKind { definition.kind }

  // One row a key, which the formatter would spread over many lines.
  // swift-format-ignore
  package var definition: Definition {
    switch self {
    case .process: .map("""
      The process. May occur more than once, with the facts of the launch, then those of the crash; \
      the maps are merged.
      """)
    case .processID: .unsigned(4, "Process ID, in the process's own PID namespace.").shown(in: .process, as: "pid")
      .listed(3, as: "pid", .integer, "the process ID, in the process's own namespace", attribute: "process.pid")
    case .parentProcessID: .unsigned(4, "Process ID of the parent at the crash.").shown(in: .process, as: "parent")
    case .executablePath: .text("Path of the executable, as the kernel names it.").shown(in: .process, as: "executable")
      .listed(38, as: "executable", .text, "the executable's path", attribute: "process.executable.path")
    case .product: .text("Name of the product, as the program gave it.").shown(in: .process, as: "product")
    case .version: .text("Version of the product.").shown(in: .process, as: "version")
    case .environment: .text("Free text such as \"production\".").shown(in: .process, as: "environment")
      .listed(37, as: "environment", .word, "such as `production`", attribute: "deployment.environment.name")
    case .launchTime: .time("Time of the handler's start, not the process's.").shown(in: .process, as: "launchTime")
    case .crashTime: .time("Time at which the signal was handled, by the wall clock.").shown(in: .process, as: "crashTime")
    case .userTime: .unsigned(8, "CPU time of all threads in user mode, in nanoseconds.")
    case .systemTime: .unsigned(8, "CPU time of all threads in the kernel, in nanoseconds.")
    case .processStatus: .text("""
        `/proc/self/status` at the crash. Once the first thread has ended, the crashing thread's \
        follows.
        """)
    case .auxiliaryVector: .bytes("`/proc/self/auxv`: pairs of 8-byte integers.")
    case .identifier: .text("The identifier given to startHandler, with which the dump's file is named.")
    case .reportID: .bytes(16, "The report's ID, in the order in which it is printed.").shown(in: .report, as: "reportID")
    case .launchUptime: .unsigned(8, "CLOCK_BOOTTIME when the handler was started, in nanoseconds.")
    case .crashUptime: .unsigned(8, "CLOCK_BOOTTIME at the crash, in nanoseconds.")
    case .commandLine: .bytes("""
      `/proc/self/cmdline` at launch, each argument ended by NUL; at most 4 KiB. Missing if the \
      program asked so.
      """)
    case .limitsText: .text("`/proc/self/limits` at the crash; at most 8 KiB.")
    case .descriptorCount: .unsigned(4, """
      Open file descriptors, counted in `/proc/self/fd`; counting stops at 65,536. Those that the \
      handler holds or opens are among them.
      """)
      .listed(11, as: "open_files", .integer, "open descriptors")
    case .mappingCount: .unsigned(4, "Lines of `/proc/thread-self/maps`; counting stops at 65,536.")
    case .mappingLimit: .unsigned(8, "`/proc/sys/vm/max_map_count` at the crash.")
    case .memoryUsed: .unsigned(8, """
      Bytes used by the cgroup (`memory.current`; version 1 `memory.usage_in_bytes`).
      """)
      .listed(8, as: "group_bytes", .bytes, "memory of the control group", attribute: "postmortem.memory.group")
    case .memoryLimit: .unsigned(8, """
      Its limit in bytes (`memory.max`; version 1 `memory.limit_in_bytes`). Missing if there is \
      none.
      """)
      .listed(9, as: "group_limit_bytes", .bytes, "its limit; null for none", attribute: "postmortem.memory.group.limit")
    case .tasksUsed: .unsigned(8, "Tasks in the cgroup (`pids.current`).")
    case .tasksLimit: .unsigned(8, "Their limit (`pids.max`). Missing if there is none.")
    case .cgroup:
      .text("""
        Path of the memory cgroup at launch, of `/proc/self/cgroup`; at most 1 KiB. Missing if the program \
        asked so.
        """).shown(in: .resources, as: "controlGroup")
    case .dumpDigest: .unsigned(8, """
      A digest of the intermediate dump that the report was made of, FNV-1a over words of eight \
      bytes: tells whether a pending dump of the report's ID is this one. In a minidump only, never \
      in a dump.
      """)
    case .privacy: .unsigned(1, """
      What was left out, in a crash or later: \(ReportPrivacy.sanitized.rawValue) `ReportPrivacy.sanitized`, \
      \(ReportPrivacy.noMemory.rawValue) `ReportPrivacy.noMemory`. \
      Missing if nothing was.
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
      .listed(42, as: "kernel", .word, "as `uname -r` has it", attribute: "os.version")
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
    case .processorText: .text("The first of `/proc/cpuinfo` at the crash, as far as 4 KiB have it.")
    case .releaseText: .text("os-release(5) at launch; at most 4 KiB.")
    case .compiler:
      .text("The C compiler of the toolchain that built the handler, as it names itself.").shown(in: .system, as: "compiler")
    case .swiftVersion: .text("Version of the Swift compiler that built the handler, such as \"6.3\".").shown(in: .system, as: "swiftVersion")
    case .exception: .map("The crash. In a dump without one (`dumpRequest`) the thread's ID only.")
    case .exceptionThreadID: .unsigned(4, """
      Kernel's ID of the thread that took the signal, or that a dump without a crash is about; the \
      first property.
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
      The entry of the page at `faultAddress` in `/proc/self/pagemap`, of a SIGSEGV with SEGV_MAPERR: bit \
      58 says that a guard region is there.
      """)
    case .threads: .array("The threads other than the one that took the signal.")
    case .thread: .map("One thread.")
    case .threadID: .unsigned(4, "Kernel's ID of the thread.").shown(in: .thread, as: "id")
    case .threadName: .text("As after `Name:` in proc_pid_status(5), escapes included.").shown(in: .thread, as: "name")
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
      `crashingThread` what the stack pointer and the frame pointer point to, whatever it is; what \
      lies outside `stackRegionStart` to `stackRegionEnd` is other memory.
      """)
    case .stackRegionStart: .address("Start of the mapping that the stack pointer is in.")
    case .stackRegionEnd: .address("End of that mapping, exclusive.")
    case .stackBytesOmitted: .unsigned(8, "Bytes of the stack that a limit left out.").shown(in: .thread, as: "stackBytesOmitted")
    case .blockedSignals: .address("Signal mask: bit n - 1 for signal n.")
    case .crashingThread: .map("""
      The thread that took the signal, or that the dump is about; contents as `thread`. In two \
      parts that add up, of which the first has the registers and the top of the stack, and no \
      byte of the stack is in both; a hung thread in one, and all of it in one in dumps of earlier \
      versions.
      """)
    case .schedulingPolicy: .code(SchedulingPolicy.self, "As sched_getscheduler(2)").shown(in: .thread, as: "schedulingPolicy")
    case .niceValue: .signed(4, "The nice value of getpriority(2): -20 to 19.").shown(in: .thread, as: "niceValue")
    case .systemCall: .text("""
      The system call that the thread was blocked in, as proc_pid_syscall(5); at most 192 bytes. The \
      number alone where the arguments are not known. Only for the first 512 threads.
      """)
    case .systemCallSource: .code(SystemCallSource.self, "The evidence for `systemCall`, in dumps of 1.0.0", """
      The registers are those of a stopped thread, which makes the call again; the code is the one that it \
      stopped at. Missing if the kernel showed it.
      """)
    case .threadFrames: .bytes("""
      The frames of a thread whose memory was left out (`privacy` 2), innermost first. 16 bytes of head: \
      how the walk ended (1; \(StoredStackEnd.list)), 1 if the chain of asynchronous \
      callers is cut (1), 1 if there is one (1), nothing (1), the number of asynchronous callers (4) and \
      of frames (4), nothing (4). Then 8 bytes an asynchronous caller: where it goes on; then 18 bytes a \
      frame: address (8), stack pointer or 0 (8), 1 for a return address (1), how it was found (1; \(StoredTrust.list)). In a \
      minidump only, never in a dump.
      """)
    case .threadProcessorTime: .unsigned(8, """
      In `crashingThread`: CPU time of the thread alone, in user mode and in the kernel together, in \
      nanoseconds (CLOCK_THREAD_CPUTIME_ID), when this is written. Missing in a dump of another thread than \
      the one that writes it.
      """).shown(in: .thread, as: "processorTime", "CPU time", unit: .nanoseconds)
    case .memory: .array("""
      Memory that is not a stack: `memoryRegion` maps. May occur more than once; all count. Not in \
      a minidump. Of each thread that waits in futex(2), 256 at most, the 16 bytes in front of its word \
      and 40 from it on; of `sync` 96 bytes of the queue and of 3 that it targets, and 64 of each label.
      """)
    case .memoryRegion: .map("A run of bytes.")
    case .regionAddress: .address("Address of the first byte in the process.")
    case .regionData: .bytes("""
      The bytes; missing if they could not be read, and in a minidump, whose memory list has them.
      """)
    case .regionSize: .unsigned(8, "Bytes requested.")
    case .mappings: .array("""
      The text of `/proc/self/maps`, cut into pieces at any byte: `mappingsChunk` maps, to be \
      joined.
      """)
    case .mappingsChunk: .map("One piece.")
    case .mappingsText: .text("Its text.")
    case .modules: .array("ELF images: `module` maps.")
    case .module: .map("One image.")
    case .moduleAddress:
      .address("Page of the lowest loaded address, which has the ELF header if that is loaded.")
    case .modulePath: .text("As in `/proc/thread-self/maps`; may end in \" (deleted)\"; `[vdso]`.")
    case .moduleBuildID: .bytes("The GNU build ID; missing if the image has none.")
    case .moduleProgramHeaders: .bytes("Raw Elf64_Phdr entries, 56 bytes each; in a minidump the loaded ones alone.")
    case .moduleSize: .unsigned(8, """
      Bytes from the header to the end of the last loaded segment; derived from the program \
      headers where missing.
      """)
    case .moduleSource: .code(ModuleSource.self, "How the image is known", """
      The program and the vDSO by the kernel's auxiliary vector; others by the dynamic linker's list, or by an \
      ELF header at the start of a mapping.
      """)
    case .annotations: .array("Annotations given to startHandler: `annotation` maps.")
    case .annotation: .map("One name and its value.")
    case .annotationName: .text("The name.").shown(in: .annotation, as: "name")
    case .annotationValue: .text("The value.")
    case .capture: .map("Completeness and duration of the capture.")
    case .threadsFound: .unsigned(8, """
      Threads of the process, without those that ended meanwhile and without `threadsOmitted`.
      """).shown(in: .capture, as: "threadsFound")
      .listed(10, as: "threads", .integer, "threads of the process")
    case .threadsStopped: .unsigned(8, "Threads read while they stood still.").shown(in: .capture, as: "threadsStopped")
    case .threadsReadFromKernel:
      .unsigned(8, "Number of threads whose stack and instruction pointers the kernel showed.").shown(in: .capture, as: "threadsReadFromKernel")
    case .threadsOmitted:
      .unsigned(8, "Threads past the limit of threads: counted, not in the dump.").shown(in: .capture, as: "threadsOmitted")
    // `SectionTests` compares the list with `Section`.
    case .sectionsAbandoned: .unsigned(8, """
      Bit n is set if section n ended early, by a fault of the handler or at the time limit, or was \
      left out at the time limit. Sections: 1 exception, 2 stopping the threads, 3 reading the \
      mappings, 4 the rest of the crashing thread, 5 process, 6 mappings, 7 modules, 8 system and \
      annotations, 9 other threads, 10 capture, 11 resources, 12 link map, 16 client data, 17 extra \
      memory, 18 C++ exception, 19 tasks, 20 registers and top of the stack of the crashing thread, \
      21 contexts, 22 throws, 23 surroundings, 24 memory behind pointers, 25 objects. Behind the end mark: 13 \
      crash summary, 14 crash summary on standard error, 15 \
      removing the dumps of hangs. The handler never sets bits 10 and \
      13 to 15: these sections end after this is written. A reader sets bit 10 if this is missing.
      """).shown(in: .capture, as: "sectionsAbandoned")
    case .captureTime: .unsigned(8, "Nanoseconds from the handler's entry until this map is written.").shown(in: .capture, as: "captureTime")
    case .bytesOmitted: .unsigned(8, "Bytes that the size limit left out.").shown(in: .capture, as: "bytesOmitted")
    case .writerError: .signed(4, "The error number of the first write that failed.")
    case .isIncomplete: .unsigned(1, "1 for what was torn. In a minidump only, never in a dump.")
    case .damage:
      .text("Place and cause of the damage of a torn dump. In a minidump only, never in a dump.").shown(in: .capture, as: "damage")
    case .threadsUnlisted:
      .unsigned(8, "Threads that the minidump's list has no room for. In a minidump only.").shown(in: .capture, as: "threadsUnlisted")
    case .modulesUnlisted:
      .unsigned(8, "Modules that the minidump's list has no room for. In a minidump only.").shown(in: .capture, as: "modulesUnlisted")
    case .regionsUnlisted:
      .unsigned(8, "Memory regions that the minidump's list has no room for. In a minidump only.").shown(in: .capture, as: "regionsUnlisted")
    case .notShown: .unsigned(8, """
      Bits of what `/proc` did not show, which is unknown and not none: \
      \(NotShown.allCases.map { "\($0.rawValue) \($0.name)" }.joined(separator: ", ")). Absent if it showed all.
      """).shown(in: .capture, as: "notShown")
    case .owner: .map("The process that made the run record. In a run record only, never in a dump.")
    case .ownerProcessID: .unsigned(4, "Process ID.")
    case .ownerStartTime:
      .unsigned(8, "Clock ticks from boot to the process's start: field 22 of proc_pid_stat(5).")
    case .ownerStackStart: .address("""
      Start of the main stack: field 28; another one after exec. 0 if the kernel does not show it.
      """)
    case .ownerBootID: .text("As `bootID`.")
    case .ownerProcessNamespace: .unsigned(8, "Inode of `/proc/thread-self/ns/pid`.")
    case .ownerLaunchTime: .time("Time of the handler's start, not the process's.")
    case .linkMap:
      .map("State of the dynamic linker: `struct r_debug` of its main namespace.")
    case .linkVersion: .unsigned(4, "`r_version`: 1, or 2 once dlmopen was used.")
    case .linkState: .unsigned(4, """
      `r_state`: 0 consistent, 1 adding, 2 deleting; the entries of a list being changed may be \
      wrong.
      """)
    case .linkBreakpoint: .address("`r_brk`.")
    case .linkLoaderBase: .address("`r_ldbase`.")
    case .linkDebugAddress: .address("Address of the structure.")
    case .dynamicSection: .address("The executable's dynamic section.")
    case .dynamicData: .bytes("Its bytes; at most 4 KiB.")
    case .linkEntries: .array("`linkEntry` maps in list order; at most 2,048.")
    case .linkEntry: .map("One `struct link_map`.")
    case .linkAddress: .address("`l_addr`: difference between addresses in the file and in memory.")
    case .linkDynamic: .address("`l_ld`.")
    case .linkName: .text("`l_name`; empty for the executable. At most 4 KiB.")
    case .survival: .map("""
      Fate of the process after the dump, and the crashes that it had survived before. Absent \
      where the crash ends the process by the default action and is its first.
      """)
    case .survivalOutcome: .code(SurvivalOutcome.self, "What followed the dump", """
      The first: a handler that was there before ours runs after the dump, or one that was installed later \
      and called ours goes on. The second is written over the first in the finished dump, in place, at the \
      first sign of life that leaves no doubt, if the file is still there; so is the last, where the handler \
      ends the process by `abort` or another signal that it sends itself, which gets no dump of its own, or by `exit`. \
      \(SurvivalOutcome.endedCode) is written over another value where `abort` goes on to end the first process of a \
      PID namespace. Absent if the default action follows, at once or after Swift's backtracer.
      """).shown(in: .survival, as: "outcome")
    case .previousHandler: .address("The previous handler, if it runs.").shown(in: .survival, as: "previousHandler")
    case .previousHandlerIsBacktracer: .unsigned(1, """
      1: that handler is Swift's backtracer, in a shared runtime or one that is linked statically. Absent \
      for others, and in dumps of versions before 1.1.0.
      """).shown(in: .survival, as: "previousHandlerIsBacktracer")
    case .survivedCrashes:
      .unsigned(4, "Number of earlier crashes of this process that have their own dumps.").shown(in: .survival, as: "survivedCrashes")
    case .precedingReport: .bytes(16, "The report ID of the last of them.").shown(in: .survival, as: "precedingReport")
    case .continuesReport: .bytes(16, """
      In a run record, inside `owner`: the locked file was made because the process may survive \
      the crash of this report. If it is left behind empty, that crash was the end, or an ordinary \
      end came later: no further verdict.
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
      In a run record, inside `owner`: 1 if the owner maps this file as long as it lives and has \
      seen, at launch, that a read lease on it is refused for that; once one is granted, the owner \
      is dead.
      """)
    case .ownerTakesRequests: .unsigned(1, """
      In a run record, inside `owner`: 1 if `ownerStopSignal`, queued with a `CaptureRequest`, makes \
      the owner take a dump and go on.
      """)
    case .ownerToldStacks: .address("""
      In a run record, inside `owner`: where the owner's memory has what its threads have told of their \
      alternate stacks: 8192 entries of thread ID, base and size, 8 bytes each; bit 63 of the size \
      stands for a stack of the handler's. Whoever sends it a request looks there for a thread with room.
      """)
    case .dumpRequest: .map("""
      The reason for a dump without a crash; absent in a crash. `exception` then holds the \
      thread's ID only.
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
      Nanoseconds without an answer so far, standstills of the whole process not counted; written \
      over in the finished dump, in place, while the hang lasts.
      """).shown(in: .request, as: "hangTime")
      .listed(5, as: "hang_seconds", .seconds, "the time that a hang had lasted", attribute: "postmortem.hang.duration")
    case .hangProcessorTime: .unsigned(8, """
      Nanoseconds of CPU time that the thread in `exception` used meanwhile; written over \
      likewise. Absent if no thread is known.
      """).shown(in: .request, as: "processorTime")
    case .hangThreadEvidence: .code(HangThreadEvidence.self, "Certainty that this thread hung", """
      Without evidence it is the monitor's own.
      """).shown(in: .request, as: "threadEvidence")
    case .client: .map("""
      Counts of client data that had no room or is missing; a value that would be 0 is \
      left out. The data itself is in `annotationObjects`, `simpleAnnotations`, `breadcrumbs` and the \
      like. May occur more than once; the maps are merged.
      """)
    case .annotationsOmitted: .unsigned(8, "Number of annotations that had no room.").shown(in: .client, as: "annotationsOmitted")
    case .simpleAnnotationsOmitted: .unsigned(8, "Number of simple annotations that had no room.").shown(in: .client, as: "simpleAnnotationsOmitted")
    case .breadcrumbsLeft: .unsigned(8, "Breadcrumbs that were ever left.").shown(in: .client, as: "breadcrumbsLeft")
    case .breadcrumbsOmitted:
      .unsigned(8, "Of the last 128 those that were being written, or could not be.").shown(in: .client, as: "breadcrumbsOmitted")
    case .memoryRangesOmitted: .unsigned(8, "Number of memory ranges that had no room.").shown(in: .client, as: "memoryRangesOmitted")
    case .memoryBytesOmitted: .unsigned(8, "Bytes of extra memory past the limit.").shown(in: .client, as: "memoryBytesOmitted")
    case .attachmentsOmitted: .unsigned(8, "Number of attachments that had no room.").shown(in: .client, as: "attachmentsOmitted")
    case .contextsOmitted: .unsigned(8, "Number of contexts of the threads in `contexts` that had no room.").shown(in: .client, as: "contextsOmitted")
    case .annotationObjects:
      .array("The program's annotations that have a type: `annotationObject` maps; at most 400.")
    case .annotationObject: .map("One, with `annotationName`.")
    case .annotationType: .code(AnnotationType.self, "Type of the value", """
      A double is an IEEE 754 number; a bool of 0 is false.
      """).shown(in: .annotation, as: "type")
    case .annotationData: .bytes("""
      The value: text of at most 20,480 bytes, else 8 bytes. Missing if it could not be read.
      """)
    case .annotationState: .code(AnnotationState.self, "Of a value that is not simply the last one", """
      The first: a newer one was being written, this is the one before. The second: a newer one was given \
      up. The third: it could not be read, for it changed all the time or was written over.
      """).shown(in: .annotation, as: "state")
    case .simpleAnnotations: .array("""
      Simple annotations set after launch: `annotation` maps, with `annotationState`; at most 64. \
      They count before `annotations` of the same name.
      """)
    case .breadcrumbs:
      .array("The program's breadcrumbs, oldest first: `breadcrumb` maps; at most 128.")
    case .breadcrumb: .map("One note.")
    case .breadcrumbTime: .time("Time, by the wall clock. In minidumps and older dumps.").shown(in: .breadcrumb, as: "time")
    case .breadcrumbUptime: .unsigned(8, "CLOCK_BOOTTIME then, in nanoseconds.")
    case .breadcrumbThreadID: .unsigned(4, "Kernel's ID of the thread that left it.").shown(in: .breadcrumb, as: "threadID")
    case .breadcrumbText: .text("Its text; at most 224 bytes.").shown(in: .breadcrumb, as: "text")
    case .breadcrumbLevel: .code(BreadcrumbLevel.self, "Its level; missing if it has none.").shown(in: .breadcrumb, as: "level")
    case .breadcrumbMetadata: .text("""
      Its names and values in turn, each ended by NUL; with the text at most 224 bytes. Missing if there \
      are none.
      """).shown(in: .breadcrumb, as: "metadata")
    case .extraMemory: .array("""
      Memory that the program asked for: `memoryRegion` maps of at most 128 KiB each, touching \
      ones of one range.
      """)
    case .attachments: .array("Files to be copied with the report: `attachment` maps; at most 16.")
    case .attachment: .map("One file.")
    case .attachmentPath: .text("Its absolute path; at most 1,024 bytes.").shown(in: .attachment, as: "path")
    case .attachmentName: .text("The copy's name. In a minidump only, as the next three.").shown(in: .attachment, as: "name")
    case .attachmentSize: .unsigned(8, "Bytes that were copied.").shown(in: .attachment, as: "size")
    case .attachmentBytesOmitted: .unsigned(8, "Bytes before them that were not.").shown(in: .attachment, as: "bytesOmitted")
    case .attachmentFailure: .text("Why it was not copied.").shown(in: .attachment, as: "failure")
    case .userStreamFailures: .array("""
      Streams of the converter's own that could not be added: `userStreamFailure` maps. In a \
      minidump only.
      """)
    case .userStreamFailure: .map("One of them.")
    case .userStreamReason: .text("The stream and the error; at most 1,024 characters.")
    case .ownerNotes: .bytes(32, """
      In a run record, first inside `owner`, its value at byte 42 of the file: what the process \
      notes of its own end, in place. The end (4; \(NotedEnd.list); the second by `_exit`, `_Exit` or `quick_exit`), \
      padding (4), the first signal that asked it to end (4), what followed (4; \(NotedReaction.list); the \
      second for the first process of a PID namespace, the third where the program said so), when (8, nanoseconds since 1970), padding (8). 0 for nothing. Absent if \
      the program turned off reports on how runs end.
      """)
    case .ownerHeartbeat: .bytes(2_048, """
      In a run record, second inside `owner`: the size (4) of a document of its own with one \
      `runEvidence`, that document, zeros; written over in place at each heartbeat. All 0 before \
      the first.
      """)
    case .ownerFollowsExits: .unsigned(1, "In a run record: 1 if an end by `_exit` is noted.")
    case .runEvidence: .map("""
      Memory and kill counters at a process's launch (in a run record, inside `owner`) or at its last \
      heartbeat.
      """)
    case .evidenceTime:
      .time("Time of the reading. The same map has `cgroup`, `memoryUsed`, `memoryLimit`.")
    case .evidenceUptime: .unsigned(8, "Nanoseconds since boot, time asleep included.")
    case .evidenceMachineKills: .unsigned(8, """
      Processes that the kernel killed because memory ran out since boot: `oom_kill` of \
      `/proc/vmstat`.
      """)
    case .evidenceGroupKills:
      .unsigned(8, "The same of the memory cgroup: `memory.events`, `memory.oom_control`.")
    case .evidenceGroupProcesses: .unsigned(8, "Processes in that group.")
    case .evidenceResidentMemory: .unsigned(8, "Bytes of the process in memory.")
    case .evidenceMachineMemory: .unsigned(8, "Bytes of the machine's memory.")
    case .evidenceAvailableMemory: .unsigned(8, "Its available bytes.")
    case .evidenceLockedFiles:
      .text("Paths of files on which the process held locks, one a line; at most 8.")
    case .evidenceHangReport: .bytes(16, "The report ID of a hang that lasted.").shown(in: .end, as: "hangReport")
    case .runEnd:
      .map("The end of a run without a dump. In a minidump only, never in a dump.")
    case .runEndKind: .code(RunEndKind.self, "How the run ended", """
      Beside it `signalNumber` and `evidenceHangReport`.
      """).shown(in: .end, as: "kind")
    case .runEndCertainty: .code(RunEndCertainty.self, "Certainty of that").shown(in: .end, as: "certainty")
    case .runEndEvidence: .text("The evidence, one sentence a line.").shown(in: .end, as: "evidence")
    case .contexts: .array("""
      The values of `withContext` around each thread's work, from the outermost to the innermost; of \
      one name the last counts: `context` maps. At most 4,096 threads, the crashing one first.
      """)
    case .context: .map("One value.")
    case .contextThreadID: .unsigned(4, "The thread that worked on it.")
    case .contextName: .text("Its name; at most 64 bytes.").shown(in: .context, as: "name")
    case .contextValue: .text("The value; at most 232 bytes together with the thread's other contexts.").shown(in: .context, as: "value")
    case .contextIsCut: .unsigned(1, "1 if it was longer.").shown(in: .context, as: "cut")
    case .workBreadcrumbs: .array("""
      Breadcrumbs of the crashing thread's work: `breadcrumb` maps, the last 16 each of its context, \
      its task, and the thread outside both. They may be in `breadcrumbs` too.
      """)
    case .throwRecords: .array("""
      Where Swift errors were thrown: `throwRecord` maps; the last 4 of the crashing thread, then the last \
      16 of others, newest first. Only if the program turned on recording.
      """)
    case .throwRecord: .map("One.")
    case .throwThreadID: .unsigned(4, "The thread that threw.")
    case .throwUptime: .unsigned(8, "CLOCK_BOOTTIME then, in nanoseconds.")
    case .throwError: .address("""
      Address of the error's box; missing for an error of a typed throw, which has none.
      """)
    case .throwAddresses: .bytes("""
      Up to 8 return addresses of 8 bytes, innermost first: of the hook, of the function that threw, of \
      its callers by their frame pointers.
      """)
    case .tasks: .array("""
      Tasks of Swift concurrency that threads ran: `task` maps; at most 256, the crashing thread's \
      first. Their memory is in `memory`: 512 bytes of each, and the slabs that its function \
      frames lie in (of the first task the last 64, of others the last 8; 16 KiB each at most).
      """)
    case .task: .map("One task.")
    case .taskThreadID: .unsigned(4, "The thread that ran it.")
    case .taskAddress: .address("Address of the task object.")
    case .taskLayoutVersion:
      .unsigned(4, "`_swift_concurrency_debug_internal_layout_version` of the runtime.")
    case .cxxException: .map("""
      The C++ exception that the thread had caught last, of a SIGABRT; an exception that nobody \
      catches counts as caught by std::terminate(). libstdc++'s only.
      """)
    case .cxxTypeName: .text("The linkage name of its type; at most 1 KiB.")
    case .cxxMessage: .text("""
      Its text, of types derived from std::runtime_error and std::logic_error, of std::string and \
      of C strings; at most 4 KiB.
      """)
    case .senderName: .text("""
      In `exception`: `/proc/<pid>/comm` of the process that sent the signal, when it was handled.
      """)
    case .watchdogInterval: .unsigned(8, """
      In `process`: WATCHDOG_USEC of sd_watchdog_enabled(3) at launch, in nanoseconds, if \
      WATCHDOG_PID is this process or absent.
      """)
    case .hostName: .text("In `system`: `uname -n` at launch; missing if the program asked so.").shown(in: .system, as: "hostName")
      .listed(35, as: "host", .word, "the machine's name, as `uname -n` has it", attribute: "host.name")
    case .containerMount: .text("""
      In `system`, where `cgroup` is `/` or missing: the file that is mounted at `/run/.containerenv`, else at \
      `/etc/hostname`, of `/proc/self/mountinfo` at the crash; at most 512 bytes.
      """)
    case .timeZone: .text("""
      In `system`: TZ at launch, else the target of `/etc/localtime` at the crash; at most 256 bytes.
      """)
    case .workingDirectory: .text("In `process`: `/proc/thread-self/cwd` at the crash.").shown(in: .process, as: "workingDirectory")
    case .descriptors: .array("""
      In `process`: the lowest 256 open file descriptors at the crash, as they stand in \
      `/proc/self/fd`: `descriptor` maps. Those that the handler holds are among them.
      """)
    case .descriptor: .map("One descriptor.")
    case .descriptorNumber: .unsigned(4, "Its number.").shown(in: .descriptor, as: "number")
    case .descriptorKind: .code(DescriptorKind.self, "Kind of the file", """
      The first: opened by a path, and none of the others; a file or a named pipe. A device is below `/dev`, a \
      pipe has no name, an anonymous inode is such as `eventfd` and `eventpoll`, memory is of memfd_create(2).
      """).shown(in: .descriptor, as: "kind")
    case .descriptorPath: .text("""
      The link's text without the mark of a deleted file; at most 512 bytes. Missing for all but \
      sockets, pipes and anonymous inodes if the program asked so.
      """).shown(in: .descriptor, as: "path")
    case .descriptorPathIsCut: .unsigned(1, "1 if it was longer.").shown(in: .descriptor, as: "cut")
    case .descriptorIsDeleted: .unsigned(1, """
      1 if the link ends in ` (deleted)`: no name leads to the file any more.
      """).shown(in: .descriptor, as: "deleted")
    case .conversion: .map("""
      Additions by the converter. In a minidump only, as all that follows. Beside these keys: \
      `annotations`, which count before all others of the same name.
      """)
    case .clientID: .bytes(16, "The client ID of the database.")
      .listed(43, as: "client_id", .text, "the database's client ID, one for each installation", attribute: "service.instance.id")
    case .symbols: .array("""
      Functions at addresses on the crashing thread's stack, found at conversion: \
      `symbol` maps.
      """)
    case .symbol: .map("One address.")
    case .symbolAddress:
      .address("The address; inside the call for a frame that will be returned to.")
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
      1 if no line stands for the code itself, and `sourceLine` is the last one in front of it.
      """)
    }
  }
}
