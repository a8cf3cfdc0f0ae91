internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import DumpInspection
internal import IntermediateDump

/// A line of `postmortem export --format otlp`: an ExportLogsServiceRequest with one record, as JSON.
///
/// A fact that OpenTelemetry's semantic conventions define has its name from these conventions. The names of all
/// other facts begin with `postmortem.`.
///
/// Source: OpenTelemetry protocol 1.5, JSON encoding; semantic conventions 1.36: exceptions in logs,
/// service, host, process, container, deployment, log.
enum OTLPLine {
  static func add(_ report: ExportedReport, to json: inout JSONWriter) {
    json.add(verbatim: #"{"resourceLogs":[{"resource":{"attributes":["#)
    add(resource(of: report), to: &json)
    json.add(verbatim: #"]},"scopeLogs":[{"scope":{"name":"swift-postmortem","version":"#)
    json.add(PostmortemTool.version)
    json.add(verbatim: #"},"logRecords":[{"timeUnixNano":""#)
    json.add(verbatim: String(report.time.nanoseconds))
    let severity: (number: StaticString, text: StaticString) =
      switch report.details.kind {
      case .quit: ("9", "INFO")
      case .hang, .dump: ("17", "ERROR")
      case .crash, .end, nil: ("21", "FATAL")
      }
    json.add(verbatim: #"","severityNumber":"#)
    json.add(verbatim: severity.number)
    json.add(verbatim: #","severityText":""#)
    json.add(verbatim: severity.text)
    json.add(verbatim: #"","body":{"stringValue":"#)
    json.add(body(of: report))
    json.add(verbatim: #"},"attributes":["#)
    add(attributes(of: report), to: &json)
    json.add(verbatim: "]}]}]}]}\n")
  }

  private typealias Attribute = (key: String, value: ExportValue)

  /// The OpenTelemetry attribute for a fact of a dump, with the name from the fact's row in the schema.
  private static func attribute(
    _ key: IntermediateDumpKey, of details: ReportDetails
  ) -> Attribute {
    guard let fact = IndexNames.of(key), let name = fact.attribute else {
      preconditionFailure("\(key) has no attribute")
    }
    return (name, details.value(of: fact))
  }

  /// The attributes of the process, and of the machine that it ran on.
  private static func resource(of report: ExportedReport) -> [Attribute] {
    let details = report.details
    let name = details[text: .executablePath]?.split(separator: "/").last.map { String($0) }
    return [
      ("service.name", .text(report.facts.program ?? "unknown_service")),
      ("service.version", ExportValue(report.facts.version)),
      attribute(.clientID, of: details),
      attribute(.environment, of: details),
      attribute(.hostName, of: details),
      ("host.arch", ExportValue(details[.architecture].map { $0 == "x86_64" ? "amd64" : $0 })),
      ("os.type", .text("linux")),
      attribute(.distribution, of: details),
      attribute(.kernelRelease, of: details),
      ("container.id", ExportValue(details[.containerID])),
      attribute(.processID, of: details),
      ("process.executable.name", ExportValue(name)),
      attribute(.executablePath, of: details),
      ("process.executable.build_id.gnu", ExportValue(details[.buildID])),
    ]
  }

  /// The attributes of the log record, which describe the event; the resource's attributes describe the process and its
  /// host.
  private static func attributes(of report: ExportedReport) -> [Attribute] {
    let facts = report.facts
    let details = report.details
    let stack = details.stack.isEmpty ? nil : details.stack.joined(separator: "\n")
    var attributes: [Attribute] = [
      ("log.record.uid", .text(report.id.description)),
      ("exception.type", .text(type(of: report))),
      ("exception.message", ExportValue(facts.message ?? report.failure)),
      ("exception.stacktrace", ExportValue(stack)),
      ("postmortem.kind", .text(report.kind)),
      ("postmortem.signal", ExportValue(report.signal)),
      ("postmortem.signal.code", ExportValue(report.code)),
      ("postmortem.cause", ExportValue(facts.cause)),
      ("postmortem.signature", ExportValue(facts.signature)),
      ("postmortem.place", ExportValue(facts.place)),
      ("postmortem.age", details[.age].map { .seconds($0) } ?? .none),
      ("postmortem.uptime", details[.uptime].map { .seconds($0) } ?? .none),
      attribute(.hangTime, of: details),
      ("postmortem.memory.resident", ExportValue(details[.residentMemory])),
      attribute(.memoryUsed, of: details),
      attribute(.memoryLimit, of: details),
      ("postmortem.tasks", ExportValue(details[.tasks])),
      ("postmortem.in_flight", ExportValue(details[.inFlight])),
      ("postmortem.in_flight.age", details[.oldestInFlight].map { .seconds($0) } ?? .none),
    ]
    for value in report.inFlightValues {
      attributes.append(("postmortem.in_flight.value.\(value.name)", .text(value.value)))
    }
    for tag in report.tags { attributes.append(("postmortem.tag.\(tag.name)", .text(tag.value))) }
    return attributes
  }

  /// The first of these that is known: the type of the error that the program gave, the signal, the cause, and the kind
  /// of report.
  private static func type(of report: ExportedReport) -> String {
    report.details[text: .requestErrorType] ?? report.signal ?? report.facts.cause ?? report.kind
  }

  private static func body(of report: ExportedReport) -> String {
    let words = [report.signal ?? report.kind, report.facts.cause].compactMap(\.self)
    let what = report.facts.message ?? report.failure ?? words.joined(separator: " ")
    return report.facts.place.map { "\(what) in \($0)" } ?? what
  }

  private static func add(_ attributes: [Attribute], to json: inout JSONWriter) {
    var isFirst = true
    for (key, value) in attributes {
      if value == .none { continue }
      json.add(verbatim: isFirst ? #"{"key":"# : #",{"key":"# as StaticString)
      isFirst = false
      json.add(key)
      switch value {
      case .integer(let number):
        // The JSON encoding of OTLP represents 64-bit integers as strings.
        json.add(verbatim: #","value":{"intValue":""#)
        json.add(verbatim: String(number))
        json.add(verbatim: #""}}"#)
      case .seconds:
        json.add(verbatim: #","value":{"doubleValue":"#)
        value.write(to: &json)
        json.add(verbatim: "}}")
      default:
        json.add(verbatim: #","value":{"stringValue":"#)
        value.write(to: &json)
        json.add(verbatim: "}}")
      }
    }
  }
}
