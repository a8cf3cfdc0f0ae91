internal import CCrashLab

// Threads beside the crashing one.

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
  ]
}
