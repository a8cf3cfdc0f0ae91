internal import CCrashLab

// Threads other than the crashing one.

extension Condition {
  static let threadConditions: [Condition] = [
    Condition(
      name: "at-once", summary: "on 64 threads at the same instant",
      around: { unsafe condition_at_once($0.function, $0.context) }),
    Condition(
      name: "second-crash", summary: "and again on another thread while the first is captured",
      around: { unsafe condition_second_crash($0.function, $0.context) }),
    Condition(
      name: "deaf-threads", summary: "beside four threads that block every signal",
      after: { _ in condition_deaf_threads() }),
    Condition(
      name: "blocked-before", summary: "in a program that blocked every signal before the handler",
      before: { crashlab_block_all() }),
    Condition(
      name: "blocked-after", summary: "in a program that blocks every signal from then on",
      after: { _ in crashlab_block_all() }),
    Condition(
      name: "starved-thread",
      summary: "beside a thread that works for 40 ms while libc blocks its signals",
      after: { _ in condition_starved_thread() }),
    Condition(
      name: "vfork-parent", summary: "beside a thread that waits for its vfork child",
      after: { _ in condition_vfork_parent() }),
    Condition(
      name: "traced-thread", summary: "beside a thread that a tracer has stopped",
      after: { _ in condition_traced_thread() }),
    Condition(
      name: "thread-churn", summary: "while four threads start and join others",
      after: { _ in condition_thread_churn() }),
    Condition(
      name: "spinning-threads", summary: "beside four threads that never sleep",
      after: { _ in condition_spinning_threads() }),
    Condition(
      name: "stealing-thread",
      summary: "beside a thread that puts a file over every descriptor all the time",
      after: { _ in condition_stealing_thread() }),
    Condition(
      name: "theft", summary: "beside a thread that puts a file over the dump while it is written",
      after: { unsafe condition_theft($0) }),
    Condition(
      name: "first-thread-ended", summary: "once the first thread has ended",
      after: { _ in condition_prepare_end_of_first_thread() },
      around: { body in
        condition_end_first_thread()
        unsafe body.function(body.context)
      }),
    Condition(
      name: "bad-thread-base", summary: "with a thread pointer that points nowhere",
      around: { unsafe condition_with_bad_thread_base($0.function, $0.context) }),
    Condition(
      name: "bad-thread-base-beside",
      summary: "beside a thread whose thread pointer points nowhere",
      after: { _ in condition_bad_thread_base_beside() }),
    Condition(
      name: "cramped-threads",
      summary: "beside threads on which a signal's frame finds no room",
      after: { _ in condition_cramped_threads() }),
    Condition(
      name: "cramped-threads-before", summary: "the same, which are there before the handler",
      before: { condition_cramped_threads() }),
    Condition(
      name: "exiting-thread",
      summary: "while a thread that blocks every signal calls exit, as soon as the dump has begun",
      after: { unsafe condition_exiting_thread($0) }),
    Condition(
      name: "signal-stacks-4k",
      summary: "on 64 threads at once, on alternate stacks of 4,096 bytes",
      around: { unsafe condition_on_small_stacks($0.function, $0.context, 4096) }),
    Condition(
      name: "signal-stacks-6k", summary: "the same with 6,144 bytes",
      around: { unsafe condition_on_small_stacks($0.function, $0.context, 6144) }),
    Condition(
      name: "signal-stacks-8k", summary: "the same with 8,192 bytes",
      around: { unsafe condition_on_small_stacks($0.function, $0.context, 8192) }),
    Condition(
      name: "handlers-on-8k", summary: "the same in a signal handler on that stack",
      around: { unsafe condition_in_handler_on_small_stacks($0.function, $0.context, 8192) }),
  ]
}
