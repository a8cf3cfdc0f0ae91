internal import CCrashLab

// Crashes in child processes, some followed by a crash of the parent.

extension Condition {
  static let childConditions: [Condition] = [
    Condition(
      name: "forked-child", summary: "in a child; the parent exits",
      around: { unsafe condition_in_child($0.function, $0.context) }),
    Condition(
      name: "child-then-parent", summary: "in a child, then in its parent",
      around: { unsafe condition_in_child_then_parent($0.function, $0.context) }),
    Condition(
      name: "grandchild", summary: "in a child's child; the others exit",
      around: { unsafe condition_in_grandchild($0.function, $0.context) }),
    Condition(
      name: "workers", summary: "in each of eight children; the parent exits",
      around: { unsafe condition_in_workers($0.function, $0.context) }),
    Condition(
      name: "vfork-then-parent", summary: "in a child of vfork, then in its parent",
      around: { unsafe condition_in_vfork_child_then_parent($0.function, $0.context) }),
    Condition(
      name: "exec-child", summary: "after a child that ran another program died",
      around: { unsafe condition_after_exec_child($0.function, $0.context) }),
    Condition(
      name: "bare-fork", summary: "in a child of _Fork, which calls no atfork handlers",
      around: { unsafe condition_in_bare_fork($0.function, $0.context) }),
    Condition(
      name: "raw-clone", summary: "in a child of the system call clone",
      around: { unsafe condition_in_clone($0.function, $0.context) }),
    Condition(
      name: "namespace-clone",
      summary: "in a child of clone that is the first of a PID namespace; takes root",
      around: { unsafe condition_in_namespace_clone($0.function, $0.context) }),
    Condition(
      name: "early-atfork", summary: "in an atfork handler registered before the handler's",
      before: { condition_prepare_early_atfork() },
      around: { unsafe condition_in_early_atfork($0.function, $0.context) }),
    Condition(
      name: "daemon", summary: "after daemon(3)",
      before: { condition_collect_orphans() },
      around: { unsafe condition_in_daemon($0.function, $0.context) }),
    Condition(
      name: "daemon-disk-full",
      summary: "after daemon(3), when the disk under the database has run full (64 MiB at most)",
      before: { condition_collect_orphans() },
      after: { unsafe condition_remember_disk($0) },
      around: { unsafe condition_in_daemon_on_full_disk($0.function, $0.context) }),
  ]
}
