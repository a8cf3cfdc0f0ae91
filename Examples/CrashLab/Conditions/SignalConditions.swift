internal import CCrashLab

// Signals that arrive while the handler runs.

extension Condition {
  static let signalConditions: [Condition] = [
    Condition(
      name: "alarm-storm", summary: "under an alarm every 200 microseconds",
      after: { _ in condition_alarm_storm() }),
    Condition(
      name: "stop-and-continue", summary: "while another process stops and continues this one",
      after: { _ in condition_stop_and_continue() }),
  ]
}
