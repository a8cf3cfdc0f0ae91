internal import CCrashLab
internal import Postmortem

// Signal handlers of the program.

extension Condition {
  static let handlerConditions: [Condition] = [
    Condition(
      name: "handler-before", summary: "with handlers that were there before",
      before: { condition_handler_before() }),
    Condition(
      name: "signal-before", summary: "with handlers set by signal(2) before",
      before: { condition_old_style_handler_before() }),
    Condition(
      name: "handler-after", summary: "with handlers installed later, which do not pass on",
      after: { _ in condition_handler_after() }),
    Condition(
      name: "chaining-after", summary: "with handlers installed later, which pass on",
      after: { _ in condition_chaining_handler_after() }),
    Condition(
      name: "first-chance", summary: "after a first-chance handler has taken a fault of its own",
      after: { database in
        // Only the crash handler calls a first-chance handler.
        guard database != nil else { return }
        unsafe setFirstChanceHandler(condition_first_chance())
        condition_use_fault()
      }),
  ]
}
