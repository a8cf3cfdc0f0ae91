internal import CCrashLab

// Resources that are exhausted, or that the process has lost.

extension Condition {
  static let resourceConditions: [Condition] = [
    Condition(
      name: "no-proc", summary: "with nothing in /proc; takes root",
      before: { condition_no_proc() }),
    Condition(
      name: "no-descriptors", summary: "with no descriptor left",
      after: { unsafe condition_no_descriptors($0) }),
    Condition(
      name: "close-range", summary: "after close_range(3, ~0)",
      after: { unsafe condition_close_range($0) }),
    Condition(
      name: "file-size-0", summary: "under a file size limit of 0",
      after: { unsafe condition_file_size_zero($0) }),
    Condition(
      name: "disk-full", summary: "with a full disk under the database (64 MiB at most)",
      after: { unsafe condition_full_disk($0) }),
    Condition(
      name: "directory-deleted", summary: "after the database was removed",
      after: { unsafe condition_directory_deleted($0) }),
    Condition(
      name: "directory-read-only", summary: "with a database that may not be written any more",
      after: { unsafe condition_directory_read_only($0) }),
    Condition(
      name: "no-cwd", summary: "in a working directory that was removed",
      after: { unsafe condition_no_working_directory($0) }),
    Condition(
      name: "other-stderr", summary: "after standard error has become another file",
      after: { unsafe condition_other_standard_error($0) }),
    Condition(
      name: "no-pending-signals", summary: "under RLIMIT_SIGPENDING 0",
      after: { _ in condition_no_pending_signals() }),
    Condition(
      name: "full-signal-queue", summary: "with RLIMIT_SIGPENDING used up",
      after: { _ in condition_full_signal_queue() }),
  ]
}
