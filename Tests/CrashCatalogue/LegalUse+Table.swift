import CrashTestSupport

extension LegalUse {
  /// All scenes, in the order in which crash-lab lists them.
  public static let all: [LegalUse] =
    masks + aborts + jumps + contexts + waits + requests + notices + timers + [LegalUse("shown")]
    + programs + stacks
    + threads + limits + dumps
    + dispatch

  /// One scene of each family and the accepted differences, for `swift test`.
  public static let representatives = all.filter {
    $0.difference != nil
      || [
        "aborts-pending", "jumps-work-and-leave", "contexts-abort", "waits-signalfd-threads",
        "requests-open-for-call",
        "notices-files",
        "timers-signals",
        "programs-exec", "stacks-swapped", "threads-first-ends", "limits-queue", "dispatch-wait",
      ].contains($0.name)
  }

  private static let masks = [
    LegalUse("masks-read-back"),
    LegalUse(
      "masks-faults-read-back",
      differs: Difference(part: "400004d8", handled: "00000000")),
    LegalUse("masks-passed-on"),
    LegalUse("masks-in-handler"),
    LegalUse("masks-open-for-calls", .exits(0, dumps: 4)),
    LegalUse("masks-open-and-end", .ends(by: 6, dumps: 1)),
    LegalUse("masks-older-functions", .ends(by: 11)),
    LegalUse("masks-fault-blocked", .ends(by: 11)),
    LegalUse("masks-fault-blocked-with-handler", .ends(by: 11)),
    LegalUse("masks-all-before"),
    LegalUse("masks-all-before-fault", .ends(by: 11, dumps: 1)),
    LegalUse("masks-fault-pending-before"),
    LegalUse("masks-handled-fault", .ends(by: 11)),
    LegalUse("masks-handled-fault-later", .ends(by: 11)),
    LegalUse("masks-handled-fault-thread", .ends(by: 11)),
    LegalUse("masks-handled-awaited"),
    LegalUse(
      "masks-fault-awaited", .exits(0, dumps: 1),
      differs: Difference(
        part: "took 11\n", handled: "", end: ChildEnd(status: 11))),
  ]

  private static let aborts = [
    LegalUse("aborts-pending"),
    LegalUse("aborts-blocked", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-all-blocked", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-heap-blocked", .ends(by: 6, dumps: 1), withNewGlibc: .ends(by: 6)),
    LegalUse("aborts-heap", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-thread", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-thrd", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-sent-to-thrd"),
    LegalUse("aborts-in-handler", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-past-libc", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-left", .exits(0, dumps: 3)),
    LegalUse("aborts-left-blocked", .exits(0, dumps: 1), withNewGlibc: .ends(by: 6, dumps: 1)),
    LegalUse("aborts-left-later", withNewGlibc: .ends(by: 6)),
    LegalUse("aborts-noted-blocked", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-ignored", .ends(by: 6)),
    LegalUse("aborts-ignored-before", .ends(by: 6)),
    LegalUse("aborts-handler-later"),
    LegalUse("aborts-handler-after-blocking"),
    LegalUse("aborts-handler-before", .exits(0, dumps: 1)),
    LegalUse("aborts-ignored-later"),
    LegalUse("aborts-unblocked", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-sent", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-other-thread", .ends(by: 6, dumps: 1)),
    LegalUse("aborts-one-thread"),
    LegalUse("aborts-children", .exits(0, dumps: 2)),
    LegalUse("aborts-child-of-all", .exits(0, dumps: 1)),
  ]

  private static let jumps = [
    LegalUse("jumps-leave", .exits(0, dumps: 4)),
    LegalUse("jumps-leave-later"),
    LegalUse("jumps-leave-nodefer", .exits(0, dumps: 4)),
    LegalUse("jumps-work-and-leave", .exits(0, dumps: 4)),
    LegalUse("jumps-work-and-leave-later"),
    LegalUse("jumps-leave-quietly", .exits(0, dumps: 4)),
    LegalUse("jumps-leave-quietly-later"),
    LegalUse("jumps-leave-threads", .exits(0, dumps: 12)),
    LegalUse("jumps-repair", .exits(0, dumps: 4)),
    LegalUse("jumps-repair-later"),
    LegalUse("jumps-work-and-repair", .exits(0, dumps: 4)),
    LegalUse("jumps-work-and-repair-later"),
    LegalUse("jumps-repair-quietly", .exits(0, dumps: 4)),
    LegalUse("jumps-repair-quietly-later"),
    LegalUse("jumps-open-after", .exits(0, dumps: 4)),
    LegalUse("jumps-open-after-later"),
    LegalUse("jumps-stay-blocked", .ends(by: 11, dumps: 1)),
    LegalUse("jumps-stay-blocked-later", .ends(by: 11)),
    LegalUse("jumps-keep-blocked", .exits(0, dumps: 4)),
    LegalUse("jumps-fault-in-handler", .ends(by: 11, dumps: 1)),
    LegalUse("jumps-over-masks"),
    LegalUse("jumps-to-open", .ends(by: 6, dumps: 1)),
    LegalUse("jumps-out-of-timer"),
    LegalUse("jumps-out-of-two"),
    LegalUse("jumps-edited-mask", .ends(by: 6, dumps: 1)),
    LegalUse("jumps-repair-and-edit", .exits(0, dumps: 4)),
    LegalUse("jumps-skip", .exits(0, dumps: 8)),
    LegalUse("jumps-grow", .exits(0, dumps: 4)),
    LegalUse("jumps-raised", .exits(0, dumps: 12)),
    LegalUse("jumps-reset", .ends(by: 11, dumps: 1)),
    LegalUse("jumps-ignored", .ends(by: 11)),
    LegalUse("jumps-ignored-later", .ends(by: 11)),
    LegalUse("jumps-own-mask", .exits(0, dumps: 4)),
    LegalUse("jumps-own-mask-later"),
  ]

  private static let contexts = [
    LegalUse("contexts-turns"),
    LegalUse("contexts-abort"),
    LegalUse("contexts-open", .ends(by: 6, dumps: 1)),
    LegalUse("contexts-from-handler"),
    LegalUse("contexts-from-fault", .exits(0, dumps: 3)),
    LegalUse("contexts-preempted"),
    LegalUse("contexts-moved"),
    LegalUse("contexts-fault", .ends(by: 11, dumps: 1)),
    LegalUse("contexts-aborted", .ends(by: 6, dumps: 1)),
    LegalUse("contexts-leave", .exits(0, dumps: 4)),
  ]

  private static let waits = [
    LegalUse("waits-among-threads"),
    LegalUse("waits-for-all"),
    LegalUse("waits-in-order"),
    LegalUse("waits-signalfd"),
    LegalUse("waits-signalfd-threads"),
    LegalUse("waits-signalfd-workers"),
    LegalUse("waits-among-workers"),
    LegalUse("waits-raise-on-worker"),
    LegalUse("waits-open-on-worker", .ends(by: 6, dumps: 1)),
    LegalUse("waits-signalfd-loop"),
    LegalUse("waits-signalfd-child"),
    LegalUse("waits-signalfd-profiling"),
    LegalUse("waits-signalfd-heap", .ends(by: 6, dumps: 1), withNewGlibc: .ends(by: 6)),
  ]

  private static let requests = [
    LegalUse("requests-each", .exits(0, dumps: 15)),
    LegalUse("requests-term", .ends(by: 15)),
    LegalUse("requests-open-for-call", .ends(by: 3, dumps: 1)),
    LegalUse("requests-thread", .ends(by: 1)),
    LegalUse("requests-pipes"),
    LegalUse("requests-pipe", .ends(by: 13)),
    LegalUse("requests-stopped"),
    LegalUse("requests-children", .exits(0, dumps: 1)),
    LegalUse("requests-parents"),
  ]

  private static let notices = [
    LegalUse("notices-files"),
    LegalUse("notices-files-awaited"),
    LegalUse("notices-work"),
    LegalUse("notices-messages"),
    LegalUse("notices-forks"),
    LegalUse("notices-locks"),
    LegalUse("notices-interrupted"),
  ]

  private static let timers = [
    LegalUse("timers-each"),
    LegalUse("timers-profiler"),
    LegalUse("timers-profil"),
    LegalUse("timers-end-profiling", .ends(by: 27)),
    LegalUse("timers-end-virtual", .ends(by: 26)),
    LegalUse("timers-end-alarm", .ends(by: 14)),
    LegalUse("timers-signals"),
    LegalUse("timers-waited-for"),
    LegalUse("timers-threads"),
    LegalUse("timers-thread-fault", .ends(by: 11, dumps: 1)),
    LegalUse("timers-thread-abort", .ends(by: 6, dumps: 1)),
    LegalUse("timers-one-thread"),
    LegalUse("timers-descriptor"),
    LegalUse("timers-alarm-kept"),
  ]

  private static let programs = [
    LegalUse("programs-spawned"),
    LegalUse("programs-spawned-blocked"),
    LegalUse("programs-spawned-thread"),
    LegalUse(
      "programs-spawned-all-blocked",
      differs: Difference(part: "mask fffffffe7ffbfeff", handled: "mask fffffffe3ffbfa27")),
    LegalUse("programs-spawned-handler"),
    LegalUse("programs-exec"),
    LegalUse("programs-become"),
    LegalUse("programs-become-thread"),
    LegalUse("programs-not-become", .ends(by: 11, dumps: 1)),
    LegalUse("programs-shells", needsShell: true),
    LegalUse("programs-forked", .exits(0, dumps: 6)),
    LegalUse("programs-forked-raw", .exits(0, dumps: 1)),
    LegalUse("programs-cloned"),
    LegalUse("programs-daemons"),
  ]

  private static let stacks = [
    LegalUse("stacks-set"),
    LegalUse("stacks-swapped"),
    LegalUse("stacks-in-handlers"),
    LegalUse("stacks-overflow", .exits(0, dumps: 3)),
    LegalUse("stacks-overflow-threads", .exits(0, dumps: 9)),
    LegalUse("stacks-small"),
    LegalUse("stacks-unmapped"),
  ]

  private static let threads = [
    LegalUse("threads-ended"),
    LegalUse("threads-cancelled"),
    LegalUse("threads-first-ends", .exits(9, dumps: 1)),
    LegalUse("threads-first-ends-terminated", .ends(by: 15)),
    LegalUse("threads-first-ends-fault", .ends(by: 11, dumps: 1)),
    LegalUse("threads-all-end"),
    LegalUse("threads-exit", .exits(11)),
    LegalUse("threads-exit-there", .exits(12)),
    LegalUse("threads-quick-exit", .exits(14)),
    LegalUse("threads-at-once", .exits(15)),
    LegalUse("threads-c99-exit", .exits(16)),
    LegalUse("threads-kernel-exit", .exits(17)),
    LegalUse("threads-abort-at-exit", .ends(by: 6, dumps: 1)),
    LegalUse("threads-many"),
    LegalUse("threads-thrds"),
    LegalUse("threads-refused"),
    LegalUse("threads-errno"),
    LegalUse("threads-users"),
  ]

  private static let limits = [
    LegalUse("limits-file-handled", .exits(0, dumps: 2)),
    LegalUse("limits-file-ignored"),
    LegalUse("limits-file-blocked"),
    LegalUse("limits-file", .ends(by: 25, dumps: 1)),
    LegalUse("limits-file-child", .exits(0, dumps: 1)),
    LegalUse("limits-processor-handled", .exits(0, dumps: 1)),
    LegalUse("limits-processor", .ends(by: 24, dumps: 1)),
    LegalUse("limits-address-space"),
    LegalUse("limits-files", .ends(by: 11, dumps: 1)),
    LegalUse("limits-kept"),
    LegalUse("limits-queue", .ends(by: 6, dumps: 1)),
    LegalUse("limits-queue-abort", .ends(by: 6, dumps: 1)),
    LegalUse("limits-locked", .ends(by: 6, dumps: 1)),
  ]

  private static let dumps = [
    LegalUse("dumps-pending", .exits(0, dumps: 2)),
    LegalUse("dumps-profiling-pending", .exits(0, dumps: 4)),
    LegalUse("dumps-profiling-timer", .exits(0, dumps: 10)),
    LegalUse("dumps-profiling-thread", .exits(0, dumps: 15)),
    LegalUse("dumps-profiler", .exits(0, dumps: 10)),
    LegalUse("dumps-profiler-ends", .ends(by: 27, dumps: 2)),
    LegalUse("dumps-signals-default", .exits(0, dumps: 6)),
    LegalUse("dumps-signals-ignored", .exits(0, dumps: 6)),
    LegalUse("dumps-signals-handled", .exits(0, dumps: 6)),
    LegalUse("dumps-signals-default-crash", .ends(by: 11, dumps: 1)),
    LegalUse("dumps-signals-ignored-crash", .ends(by: 11, dumps: 1)),
    LegalUse("dumps-signals-handled-crash", .ends(by: 11, dumps: 1)),
    LegalUse("dumps-signals-default-survived", .exits(0, dumps: 3)),
    LegalUse("dumps-signals-handled-survived", .exits(0, dumps: 3)),
    LegalUse("dumps-limit"),
    LegalUse("dumps-limit-handled"),
    LegalUse("dumps-limit-hard"),
    LegalUse("dumps-limit-blocks", .exits(0, dumps: 0...2)),
    LegalUse("dumps-limit-pending"),
    LegalUse("dumps-limit-repaired", .exits(0, dumps: 3)),
    LegalUse("dumps-limit-hard-repaired"),
    LegalUse("dumps-limit-pending-repaired"),
    LegalUse("dumps-limit-exit", .exits(7, dumps: 1)),
    LegalUse("dumps-limit-sent", .exits(0, dumps: 3)),
    LegalUse("dumps-limit-crash", .ends(by: 11)),
  ]

  private static let dispatch = [
    LegalUse("dispatch-source-abort"),
    LegalUse("dispatch-source-abort-before", .exits(0, dumps: 0...3)),
    LegalUse("dispatch-source-term"),
    LegalUse("dispatch-source-blocked"),
    LegalUse("dispatch-wait"),
    LegalUse("dispatch-raise"),
    LegalUse("dispatch-open", .ends(by: 6, dumps: 1)),
    LegalUse("dispatch-abort", .ends(by: 6, dumps: 1)),
    LegalUse("dispatch-abort-task", .ends(by: 6, dumps: 1)),
    LegalUse("dispatch-own-handler"),
    LegalUse("dispatch-heap", .ends(by: 6, dumps: 1)),
    LegalUse("dispatch-heap-task", .ends(by: 6, dumps: 1)),
    // With a new C library, there is a dump unless the worker is the one that took the sent signal and blocks it since.
    LegalUse(
      "dispatch-heap-after-sent", .ends(by: 6, dumps: 1), withNewGlibc: .ends(by: 6, dumps: 0...1)),
    LegalUse("dispatch-main", .ends(by: 6, dumps: 1)),
    LegalUse("dispatch-timers"),
    LegalUse(
      "dispatch-programs",
      differs: Difference(
        part: "mask fffffffe3bfbea27", handled: "mask fffffffe3bfbea07", needsNewGlibc: true)),
    LegalUse("dispatch-masks"),
  ]
}
