internal import CrashAnalysis
internal import CrashReport
internal import IntermediateDump
internal import ProcessSnapshot

/// The contexts of a Sentry event, for example the system, the machine, the program and its memory.
///
/// Source: develop.sentry.dev, "Contexts Interface".
struct SentryContexts {
  let report: CrashReport
  private var process: ProcessDescription { report.snapshot.process }
  private var system: SystemDescription { report.snapshot.system }

  func value(_ cuts: SentryCuts) -> SentryValue {
    let resources = Resources(report.snapshot)
    return [
      "os": [
        "type": "os", "name": text(system.kernelName ?? "Linux"),
        "version": text(system.kernelRelease), "kernel_version": text(system.kernelVersion),
        "distribution": text(system.distribution), "libc": text(system.libraryVersion),
      ],
      "device": [
        "type": "device", "arch": .text(report.snapshot.architecture.rawValue),
        "name": text(system.hostName), "cpu_description": text(system.processorModel),
        "processor_count": system.processorCount.map { SentryValue($0) },
        "page_size": system.pageSize.map { .unsigned($0) }, "boot_id": text(system.bootID),
        "container": text(report.snapshot.containerID),
        "load_average": resources.loadAverage.map { .array($0.map { .real($0) }) },
      ],
      "app": [
        "type": "app", "app_name": text(process.product), "app_version": text(process.version),
        "app_start_time": process.startTime.map { .text(SentryEvent.time($0)) },
        "uptime_seconds": process.age.map { .unsigned($0 / 1_000_000_000) },
      ],
      "runtime": ["type": "runtime", "name": "Swift", "version": text(system.swiftVersion)],
      "culture": text(system.timeZoneName).map { ["type": "culture", "timezone": $0] },
      "process": [
        "pid": process.processID.map { SentryValue($0) },
        "handler_start_time": process.launchTime.map { .text(SentryEvent.time($0)) },
        "handler_uptime_seconds": process.uptime.map { .unsigned($0 / 1_000_000_000) },
        "parent": process.parentProcessID.map { SentryValue($0) },
        "executable": text(process.executablePath),
        "arguments": text(process.arguments?.joined(separator: " ")),
        "directory": text(process.workingDirectory),
        "user": process.userIDs.map { SentryValue($0.real) },
      ],
      "memory": [
        "cgroup": text(process.cgroup.path),
        "cgroup_memory_used": resources.cgroupMemory.used.map { number($0) },
        "cgroup_memory_limit": resources.cgroupMemory.limit.map { number($0) },
        "cgroup_tasks_used": resources.cgroupTasks.used.map { number($0) },
        "cgroup_tasks_limit": resources.cgroupTasks.limit.map { number($0) },
        "address_space_used": resources.addressSpace.used.map { number($0) },
        "address_space_limit": resources.addressSpace.limit.map { number($0) },
        "mappings": resources.mappings.used.map { number($0) },
        "open_files": resources.openFiles.used.map { number($0) },
        "open_files_limit": resources.openFiles.limit.map { number($0) },
        "threads": resources.threads.used.map { number($0) },
      ],
      "clock": clock,
      "crash": cuts.explanations ? crash : nil,
      "work": work,
    ]
  }

  /// The times of the event by names of their own, because a receiver replaces an old or future `timestamp`.
  private var clock: SentryValue? {
    guard let time = process.crashTime else { return nil }
    let step = process.clockStep.flatMap { $0.magnitude < 1_000_000_000 ? nil : $0 / 1_000_000_000 }
    return [
      "crash_time": .text(SentryEvent.time(time)),
      "machine_uptime_seconds": process.crashUptime.map { .unsigned($0 / 1_000_000_000) },
      "clock_set_by_seconds": step.map { .text("\($0)") },
    ]
  }

  /// This package's own entry among the event's contexts, which describes the crash.
  private var crash: SentryValue {
    let snapshot = report.snapshot
    let end = snapshot.end ?? snapshot.request?.end
    let evidence = (report.cause?.evidence.map(\.text) ?? []) + (end?.evidence ?? [])
    return [
      "explanation": text(report.explanation),
      "place": text(report.place),
      "signature": text(report.signature),
      "cause": text(report.verdict.kind),
      "certainty": text(report.cause?.certainty.word),
      "evidence": text(evidence.isEmpty ? nil : evidence.joined(separator: "\n")),
      "complete": .bool(snapshot.capture.isComplete),
      "privacy": text(snapshot.process.privacy?.name),
      "hang_nanoseconds": snapshot.request?.hangTime.map { number($0) },
    ]
  }

  /// The values that `withContext` had set on the crashing thread, outermost first; if a name occurs twice, the
  /// innermost value is used.
  private var work: SentryValue? {
    let contexts = report.threads.first { $0.crashed }?.contexts ?? []
    var names: [String] = []
    var values: [String: String] = [:]
    for context in contexts {
      if values.updateValue(context.value, forKey: context.name) == nil {
        names.append(context.name)
      }
    }
    guard !names.isEmpty else { return nil }
    return .object(
      names.prefix(SentryLimits.contextCount).map {
        SentryValue.Member(
          name: SentryLimits.tagName($0), value: text(values[$0] ?? "") ?? "")
      })
  }

  /// A text for the event; nil if the text is not known or empty.
  private func text(_ text: String?) -> SentryValue? {
    text.flatMap { $0.isEmpty ? nil : .text(SentryLimits.cut($0, SentryLimits.text)) }
  }

  /// A number for the event; a number of 2^53 or more is written as text, because readers of JSON could round it.
  private func number(_ value: UInt64) -> SentryValue {
    value < 1 << 53 ? .unsigned(value) : .text("\(value)")
  }
}
