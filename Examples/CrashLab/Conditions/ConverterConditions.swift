internal import CCrashLab

// Converters that check whether this process is alive, before it crashes.

extension Condition {
  static let converterConditions: [Condition] = [
    Condition(
      name: "converted-elsewhere",
      summary: "after close_range(3, ~0) and a converter in another PID namespace; takes root",
      after: { unsafe condition_converted_elsewhere($0) }),
    Condition(
      name: "converted-in-another-time",
      summary: "after a converter in another time namespace; takes root",
      after: { unsafe condition_converted_in_another_time($0) }),
    Condition(
      name: "taken-for-dead", summary: "after a converter that took this process for dead",
      after: { unsafe condition_taken_for_dead($0) }),
  ]
}
