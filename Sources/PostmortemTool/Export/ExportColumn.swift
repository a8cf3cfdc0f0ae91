internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import DumpInspection
internal import IntermediateDump

/// A column of `postmortem export`; a test generates the table in `Docs/Reference/Export.md` from the columns.
struct ExportColumn {
  /// The type of a column's values, from which a test derives the column types of DuckDB and ClickHouse in
  /// `Docs/Reference/Export.md`.
  enum Kind: String, CaseIterable {
    case text
    /// A text that has few different values, such as a program's name.
    ///
    /// ClickHouse stores such a column as LowCardinality.
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
  /// The unit of the values; empty if they have no unit.
  let unit: String
  /// True if the value may be null.
  let isOptional: Bool
  /// The description in the documentation: one sentence without a final period.
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

  /// The column for a fact of a dump, from the fact's row in the schema.
  private static func of(_ key: IntermediateDumpKey) -> ExportColumn {
    guard let fact = IndexNames.of(key), let column = fact.column else {
      preconditionFailure("\(key) has no column")
    }
    let (kind, unit): (Kind, String) =
      switch column.kind {
      case .text: (.text, "")
      case .word: (.word, "")
      case .integer: (.integer, "")
      case .bytes: (.integer, "bytes")
      case .seconds: (.number, "seconds")
      }
    return ExportColumn(column.name, kind, unit: unit, column.meaning) {
      $0.details.value(of: fact)
    }
  }

  /// The version of the export's columns.
  ///
  /// The version is increased when a column is removed or changes its meaning, but not when a column is added at the
  /// end.
  static let schemaVersion: Int64 = 1

  /// The columns in the order of their values in a line; new columns are only added at the end.
  static let all: [ExportColumn] = [
    ExportColumn("schemaVersion", .integer, isOptional: false, "version of this table") { _ in
      .integer(schemaVersion)
    },
    ExportColumn(
      "reportID", .text, isOptional: false, "the report's ID; each ID occurs once in an export"
    ) {
      .text($0.id.description)
    },
    ExportColumn(
      "time", .time, isOptional: false,
      "the time of the crash, or of the report if `timeKnown` is false"
    ) { .time($0.time) },
    ExportColumn(
      "timeKnown", .boolean, isOptional: false, "whether the time of the crash is known"
    ) {
      .boolean($0.isTimeKnown)
    },
    of(.hostName),
    ExportColumn("containerID", .text, "the container's ID, 64 hexadecimal digits") {
      ExportValue($0.details[.containerID])
    },
    ExportColumn(
      "program", .word, "the name of the product, or of the executable if there is no product name"
    ) {
      ExportValue($0.facts.program)
    },
    ExportColumn("version", .word, "the product's version") { ExportValue($0.facts.version) },
    of(.environment),
    of(.executablePath),
    ExportColumn("buildID", .text, "the build ID of the executable, in hexadecimal") {
      ExportValue($0.details[.buildID])
    },
    ExportColumn(
      "kind", .word, isOptional: false,
      "`crash`; `hang`: a hang; `end`: a run that left no dump (killed, out of memory and others: see `cause`); "
        + "`dump`: a dump of a process that continued; `unreadable`"
    ) { .text($0.kind) },
    ExportColumn("signal", .word, "the signal's name, such as `SIGILL`") { ExportValue($0.signal) },
    ExportColumn("code", .word, "the signal's code, such as `ILL_ILLOPN`, or its number") {
      ExportValue($0.code)
    },
    ExportColumn("cause", .word, "the kind of the cause, as in `cause` of `show --json`") {
      ExportValue($0.facts.cause)
    },
    ExportColumn(
      "message", .text, "the message of the runtime, the C library or the program, at most 1 KiB"
    ) {
      ExportValue($0.facts.message)
    },
    ExportColumn(
      "signature", .text, "one line of text, which is the same for crashes with the same cause"
    ) {
      ExportValue($0.facts.signature)
    },
    ExportColumn(
      "place", .text,
      "the innermost call of the program's own code, or its file and offset if it has no name; if there is none, "
        + "the innermost call of a dependency"
    ) {
      ExportValue($0.facts.place)
    },
    ExportColumn(
      "frames", .texts, isOptional: false,
      "the innermost calls of the program's own code; at most 5"
    ) { .texts($0.details.ownFrames) },
    ExportColumn(
      "tags", .map, isOptional: false, "the annotations: names, and values of at most 1 KiB each"
    ) {
      .map($0.tags)
    },
    ExportColumn("residentBytes", .integer, unit: "bytes", "the memory use of the process (VmRSS)")
    {
      ExportValue($0.details[.residentMemory])
    },
    ExportColumn(
      "peakResidentBytes", .integer, unit: "bytes", "the peak memory use of the process (VmHWM)"
    ) {
      ExportValue($0.details[.peakMemory])
    },
    of(.memoryUsed),
    of(.memoryLimit),
    of(.threadsFound),
    of(.descriptorCount),
    ExportColumn(
      "uptimeSeconds", .number, unit: "seconds", "the time from the handler's start to the crash"
    ) { $0.details[.uptime].map { .seconds($0) } ?? .none },
    of(.hangTime),
    of(.processID),
    ExportColumn("architecture", .word, "`x86_64` or `arm64`") {
      ExportValue($0.details[.architecture])
    },
    of(.distribution),
    of(.kernelRelease),
    of(.clientID),
    ExportColumn("state", .word, isOptional: false, "`pending` or `completed`") {
      .text($0.state.rawValue)
    },
    ExportColumn(
      "complete", .boolean, isOptional: false,
      "false if the dump was truncated or the report cannot be read"
    ) {
      .boolean($0.failure == nil && $0.details.isComplete)
    },
    ExportColumn(
      "cut", .boolean, isOptional: false,
      "whether texts or annotations in this line were shortened or left out"
    ) { .boolean($0.details.isCut) },
    ExportColumn("error", .text, "the reason why the report cannot be read; otherwise null") {
      ExportValue($0.failure)
    },
    ExportColumn(
      "ageSeconds", .number, unit: "seconds", "the time from the process's start to the crash"
    ) {
      $0.details[.age].map { .seconds($0) } ?? .none
    },
    ExportColumn(
      "tasks", .integer,
      "number of Swift concurrency tasks that a search of the memory found; null if there was no search"
    ) { ExportValue($0.details[.tasks]) },
    ExportColumn(
      "inFlight", .integer,
      "number of units of work (`withContext`) that had begun and not ended; null if the program began none"
    ) { ExportValue($0.details[.inFlight]) },
    ExportColumn(
      "inFlightSeconds", .number, unit: "seconds", "the age of the oldest unit of work in flight"
    ) {
      $0.details[.oldestInFlight].map { .seconds($0) } ?? .none
    },
    ExportColumn(
      "inFlightValues", .map, isOptional: false,
      "the values of the oldest unit of work in flight; of several values with one name, the innermost"
    ) { .map($0.inFlightValues) },
  ]
}

extension ExportColumn {
  /// Adds a line of `postmortem export`, which is an object that contains every column.
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
