internal import CCrashLab

// Modules and mappings.

extension Condition {
  static let moduleConditions: [Condition] = [
    Condition(
      name: "many-modules", summary: "with 2,000 modules more",
      after: { _ in condition_many_modules() }),
    Condition(
      name: "many-mappings", summary: "with 60,000 mappings more",
      after: { _ in condition_many_mappings() }),
    Condition(
      name: "closed-module", summary: "after a module was unloaded",
      after: { _ in condition_closed_module() }),
    Condition(
      name: "deleted-module", summary: "called by a module whose file is gone",
      around: { unsafe condition_in_deleted_module($0.function, $0.context) }),
    Condition(
      name: "replaced-module", summary: "called by a module whose file is another now",
      around: { unsafe condition_in_replaced_module($0.function, $0.context) }),
  ]
}
