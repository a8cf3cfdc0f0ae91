internal import CCrashLab

// Children that crash, and parents that do after them.

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
  ]
}
