internal import CCrashLab

// Privileges that a process gives up after it has started its handler, like a server.

extension Condition {
  static let privilegeConditions: [Condition] = [
    Condition(
      name: "other-user", summary: "after setresuid(2) from root to nobody",
      after: { _ in condition_drop_user() }),
    Condition(
      name: "other-root", summary: "after chroot(2) into an empty directory",
      after: { _ in condition_change_root() }),
    Condition(
      name: "other-user-and-root", summary: "after both",
      after: { _ in
        condition_change_root()
        condition_drop_user()
      }),
    Condition(
      name: "not-dumpable", summary: "after PR_SET_DUMPABLE 0",
      after: { _ in condition_not_dumpable() }),
    Condition(
      name: "proc-closed", summary: "after Landlock has closed /proc to the crashing thread",
      around: { body in
        condition_close_proc()
        unsafe body.function(body.context)
      }),
    Condition(
      name: "opens-refused", summary: "under a filter that refuses openat",
      around: { body in
        condition_refuse_opens()
        unsafe body.function(body.context)
      }),
    Condition(
      name: "plain-files", summary: "where neither FIFOs nor links can be made, nor modes changed",
      before: { condition_refuse_special_files() }),
  ]
}
