internal import CrashAnalysis
internal import CrashReport
internal import IntermediateDump
internal import ProcessSnapshot

/// The tags of an event: the event's fields, and this package's facts about the crash.
struct SentryTags {
  let event: SentryEvent

  /// The tags as members of the event.
  ///
  /// This package's tags come first, because the last tags may be left out. The program's tags follow, sorted by name.
  func members(_ cuts: SentryCuts) -> [SentryValue.Member] {
    let report = event.report
    let snapshot = report.snapshot
    let request = snapshot.request
    var tags: [(String, String?)] = [
      ("report_id", event.reportID.description),
      ("signal", request == nil ? snapshot.exception?.signal.map(SignalNames.text) : nil),
      ("cause", report.cause?.kind),
      ("end", snapshot.end?.kind?.word),
      ("dump", request?.kind?.word),
      ("signature", report.signature),
      ("program", snapshot.process.executablePath?.split(separator: "/").last.map(String.init)),
      ("architecture", snapshot.architecture.rawValue),
    ]
    tags += (event.group?.fields ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    let own = Set(tags.map(\.0))
    for (name, value) in event.fields.sorted(by: { $0.key < $1.key }) {
      // An event has separate members for these values, and servers refuse tags with these names.
      guard !["release", "environment", "dist", "server_name"].contains(name) else { continue }
      tags.append((own.contains(name) ? "annotation.\(name)" : name, value))
    }
    for context in report.threads.first(where: \.crashed)?.contexts ?? [] {
      tags.append(("context.\(context.name)", context.value))
    }
    var seen: Set<String> = []
    var members: [SentryValue.Member] = []
    for (name, value) in tags {
      let name = SentryLimits.tagName(name)
      let value = value.map(SentryLimits.tagValue) ?? ""
      guard !name.isEmpty, !value.isEmpty, members.count < cuts.tags, seen.insert(name).inserted
      else { continue }
      members.append(SentryValue.Member(name: name, value: .text(value)))
    }
    return members
  }
}

/// The breadcrumbs of an event.
///
/// Source: develop.sentry.dev, "Breadcrumbs Interface".
struct SentryBreadcrumbs {
  let report: CrashReport

  /// The newest breadcrumbs, oldest first; nil if there are none.
  ///
  /// Breadcrumbs of the crashing thread, of its task or of its `withContext` call have the category "work".
  func value(_ cuts: SentryCuts) -> SentryValue? {
    let client = report.snapshot.client
    let all =
      (client.breadcrumbs.map { ($0, "program") } + client.workBreadcrumbs.map { ($0, "work") })
      .enumerated()
      .sorted { left, right in
        let (a, b) = (left.element.0.time ?? .min, right.element.0.time ?? .min)
        return (a, left.offset) < (b, right.offset)
      }
      .map(\.element)
    guard !all.isEmpty else { return nil }
    return [
      "values": .array(
        all.suffix(cuts.breadcrumbs).map { crumb, category in
          [
            "timestamp": crumb.time.map { .text(SentryEvent.time($0)) },
            "category": .text(category),
            "level": .text(level(crumb.level)),
            "message": .text(SentryLimits.cut(crumb.text, cuts.breadcrumbText)),
            "data": data(crumb, cuts),
          ]
        })
    ]
  }

  /// Sentry's word for the level of a breadcrumb.
  private func level(_ level: BreadcrumbLevel?) -> String {
    switch level {
    case .trace, .debug: "debug"
    case nil, .info, .notice: "info"
    case .warning: "warning"
    case .error: "error"
    case .critical: "fatal"
    }
  }

  /// The thread and the metadata of a breadcrumb; if two names are equal, the last value is used.
  private func data(_ crumb: ClientInformation.Breadcrumb, _ cuts: SentryCuts) -> SentryValue? {
    var data: [String: SentryValue] = [:]
    data["thread"] = crumb.threadID.map { SentryValue($0) }
    for pair in crumb.metadata.pairs {
      data[pair.name] = .text(SentryLimits.cut(pair.value, cuts.breadcrumbText))
    }
    guard !data.isEmpty else { return nil }
    return .object(
      data.sorted { $0.key < $1.key }.map { SentryValue.Member(name: $0.key, value: $0.value) })
  }
}
