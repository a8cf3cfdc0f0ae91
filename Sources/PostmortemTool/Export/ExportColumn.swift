internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump

/// A column of `postmortem export`; a test writes `Docs/Reference/Export.md` from it.
struct ExportColumn {
  /// The type of a column's values, for the table declarations in the documentation.
  enum Kind: String, CaseIterable {
    case text
    /// One of few texts.
    case word
    case integer
    case number
    case boolean
    case time
    case texts
    case map
  }

  let name: String
  let kind: Kind
  /// Empty for a value without one.
  let unit: String
  /// True if the value may be null.
  let isOptional: Bool
  /// The description in the documentation: one sentence without a period.
  let meaning: String
  let value: @Sendable (ExportedReport) -> ExportValue

  private init(
    _ name: String, _ kind: Kind, unit: String = "", isOptional: Bool = true, _ meaning: String,
    _ value: @escaping @Sendable (ExportedReport) -> ExportValue
  ) {
    self.name = name
    self.kind = kind
    self.unit = unit
    self.isOptional = isOptional
    self.meaning = meaning
    self.value = value
  }

  /// Grows when a column changes its meaning or goes; not when one is added at the end.
  static let schemaVersion: Int64 = 1

  /// The columns in the order of a line; others are only ever added, at the end.
  static let all: [ExportColumn] = [
    ExportColumn("schema", .integer, isOptional: false, "version of this table") { _ in
      .integer(schemaVersion)
    },
    ExportColumn("report_id", .text, isOptional: false, "the report's ID, once in an export") {
      .text($0.id.description)
    },
    ExportColumn(
      "time", .time, isOptional: false, "of the crash; of the report where `time_known` is false"
    ) { .time($0.time) },
    ExportColumn("time_known", .boolean, isOptional: false, "whether the dump tells the time") {
      .boolean($0.isTimeKnown)
    },
    ExportColumn("host", .word, "the machine's name, as `uname -n` has it") {
      ExportValue($0.details[.host])
    },
    ExportColumn("container_id", .text, "64 hexadecimal digits") {
      ExportValue($0.details[.containerID])
    },
    ExportColumn("program", .word, "the product's name, else the executable's") {
      ExportValue($0.facts.program)
    },
    ExportColumn("version", .word, "the product's version") { ExportValue($0.facts.version) },
    ExportColumn("environment", .word, "such as `production`") {
      ExportValue($0.details[.environment])
    },
    ExportColumn("executable", .text, "the executable's path") {
      ExportValue($0.details[.executable])
    },
    ExportColumn("build_id", .text, "of the executable, in hexadecimal") {
      ExportValue($0.details[.buildID])
    },
    ExportColumn(
      "kind", .word, isOptional: false,
      "`crash`; `hang` that lasted until the process ended; `end` of a run that left no dump (killed, "
        + "out of memory and others: `cause` says which); `dump` of a process that lived on; `unreadable`"
    ) { .text($0.kind) },
    ExportColumn("signal", .word, "such as `SIGILL`") { ExportValue($0.signal) },
    ExportColumn("code", .word, "the signal's code, such as `ILL_ILLOPN`, or its number") {
      ExportValue($0.code)
    },
    ExportColumn("cause", .word, "a word for the cause, as `show --json` has it") {
      ExportValue($0.facts.cause)
    },
    ExportColumn("message", .text, "of the runtime, the C library or the program, to 1 KiB") {
      ExportValue($0.facts.message)
    },
    ExportColumn("signature", .text, "the same for crashes of one cause") {
      ExportValue($0.facts.signature)
    },
    ExportColumn("place", .text, "the innermost call of the program's own code") {
      ExportValue($0.facts.place)
    },
    ExportColumn(
      "frames", .texts, isOptional: false,
      "the innermost calls of the program's own code, 5 at most"
    ) { .texts($0.details.ownFrames) },
    ExportColumn("tags", .map, isOptional: false, "annotations by name, values to 1 KiB") {
      .map($0.tags)
    },
    ExportColumn("resident_bytes", .integer, unit: "bytes", "memory of the process, VmRSS") {
      ExportValue($0.details[.residentMemory])
    },
    ExportColumn("peak_resident_bytes", .integer, unit: "bytes", "the most there was, VmHWM") {
      ExportValue($0.details[.peakMemory])
    },
    ExportColumn("group_bytes", .integer, unit: "bytes", "memory of the control group") {
      ExportValue($0.details[.groupMemory])
    },
    ExportColumn("group_limit_bytes", .integer, unit: "bytes", "its limit; null for none") {
      ExportValue($0.details[.groupMemoryLimit])
    },
    ExportColumn("threads", .integer, "threads of the process") {
      ExportValue($0.details[.threads])
    },
    ExportColumn("open_files", .integer, "open descriptors") {
      ExportValue($0.details[.openFiles])
    },
    ExportColumn(
      "uptime_seconds", .number, unit: "seconds", "from the handler's start to the crash"
    ) { $0.details[.uptime].map { .seconds($0) } ?? .none },
    ExportColumn("hang_seconds", .number, unit: "seconds", "the time that a hang had lasted") {
      $0.details[.hangTime].map { .seconds($0) } ?? .none
    },
    ExportColumn("pid", .integer, "the process ID, in the process's own namespace") {
      ExportValue($0.details[.processID])
    },
    ExportColumn("architecture", .word, "`x86_64` or `arm64`") {
      ExportValue($0.details[.architecture])
    },
    ExportColumn("os", .word, "the distribution's name and version") {
      ExportValue($0.details[.distribution])
    },
    ExportColumn("kernel", .word, "as `uname -r` has it") { ExportValue($0.details[.kernel]) },
    ExportColumn("client_id", .text, "the database's client ID, one for each installation") {
      ExportValue($0.details[.clientID])
    },
    ExportColumn("state", .word, isOptional: false, "`pending` or `completed`") {
      .text($0.state.rawValue)
    },
    ExportColumn("complete", .boolean, isOptional: false, "false for a dump that was cut off") {
      .boolean($0.failure == nil && $0.details.isComplete)
    },
    ExportColumn(
      "cut", .boolean, isOptional: false, "whether texts or tags of this line were cut or left out"
    ) { .boolean($0.details.isCut) },
    ExportColumn("error", .text, "the reason why the report cannot be read; else null") {
      ExportValue($0.failure)
    },
    ExportColumn("age_seconds", .number, unit: "seconds", "from the process's start to the crash") {
      $0.details[.age].map { .seconds($0) } ?? .none
    },
  ]
}

extension ExportColumn {
  /// Adds a line of `postmortem export`: an object with each column.
  static func addLine(_ report: ExportedReport, to json: inout JSONWriter) {
    var isFirst = true
    for column in all {
      json.add(verbatim: isFirst ? "{\"" : ",\"" as StaticString)
      json.add(verbatim: column.name)
      json.add(verbatim: "\":")
      column.value(report).write(to: &json)
      isFirst = false
    }
    json.add(verbatim: "}\n")
  }
}
