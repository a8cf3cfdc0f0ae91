internal import CCrashLab
internal import Glibc
internal import Postmortem

// Filters that refuse or intercept system calls of the handler. The crashing thread installs a filter immediately
// before the crash, so that it affects only the crash.

/// System calls that the handler can forgo together; their numbers are in `privileges.c`.
struct CallGroup: Sendable {
  let name: String
  let calls: SystemCalls

  init(_ name: String, _ calls: SystemCalls) {
    self.name = name
    self.calls = calls
  }

  static let all: [CallGroup] = [
    CallGroup("files", .files), CallGroup("proc", .proc), CallGroup("threads", .threads),
    CallGroup("memory", .memory),
  ]
}

extension Condition {
  static let filterConditions: [Condition] =
    CallGroup.all.map { group in
      Condition(
        name: group.name + "-killed", summary: "under a filter that kills on \(group.name)",
        around: { body in
          unsafe condition_kill_on_calls(group.name)
          unsafe body.function(body.context)
        })
    } + [
      refusing("calls-not-permitted", EPERM), refusing("calls-not-implemented", ENOSYS),
      Condition(
        name: "calls-filtered", summary: "under the filter of CRASHLAB_FILTER",
        around: { body in
          condition_filter_calls()
          unsafe body.function(body.context)
        }),
      Condition(
        name: "calls-filtered-early", summary: "the same, from before the handler's start on",
        before: { condition_filter_calls() }),
      Condition(
        name: "exits-later", summary: "beside a thread that exits with 7 after two seconds",
        before: { condition_exit_later() }),
      Condition(
        name: "calls-dispatched", summary: "while each call of its thread raises SIGSYS",
        around: { body in
          condition_dispatch_calls(false)
          unsafe body.function(body.context)
        }),
      Condition(
        name: "calls-dispatched-but-libc", summary: "the same for calls that libc does not make",
        around: { body in
          condition_dispatch_calls(true)
          unsafe body.function(body.context)
        }),
      Condition(
        name: "actions-not-permitted", summary: "under a filter that refuses rt_sigaction",
        around: { body in
          condition_fail_signal_actions()
          unsafe body.function(body.context)
        }),
    ]

  private static func refusing(_ name: String, _ error: Int32) -> Condition {
    Condition(
      name: name, summary: "under a filter that answers \(error) to all that can be forgone",
      around: { body in
        condition_fail_calls(error)
        unsafe body.function(body.context)
      })
  }
}
