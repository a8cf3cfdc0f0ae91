internal import CCrashLab

// Loaded modules and memory mappings.

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
    Condition(
      name: "in-module", summary: "called by the module that CRASHLAB_MODULE names",
      around: { unsafe condition_in_module($0.function, $0.context) }),
    Condition(
      name: "memfd-module", summary: "called by a module loaded from a memfd",
      around: { unsafe condition_in_memfd_module($0.function, $0.context) }),
    Condition(
      name: "other-namespace", summary: "called by a module that dlmopen loaded",
      around: { unsafe condition_in_other_namespace($0.function, $0.context) }),
    Condition(
      name: "copied-module", summary: "called by a copy of a module that the loader does not know",
      around: { unsafe condition_in_copied_module($0.function, $0.context) }),
    Condition(
      name: "moved-module",
      summary: "called by a module whose code was moved to memory without a file",
      around: { unsafe condition_in_moved_module($0.function, $0.context) }),
    Condition(
      name: "moved-code", summary: "after the program's code was moved to memory without a file",
      after: { _ in condition_moved_code() }),
    Condition(
      name: "guarded-stack",
      summary: "on a stack whose guard lies in the mapping of its neighbours (Linux 6.13)",
      around: { unsafe condition_on_guarded_stack($0.function, $0.context) }),
  ]
}
