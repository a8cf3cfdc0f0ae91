internal import CrashReport

/// A line of `postmortem export`: an object with each column of `ExportColumn`.
enum NDJSONLine {
  static func add(_ report: ExportedReport, to json: inout JSONWriter) {
    var isFirst = true
    for column in ExportColumn.all {
      json.add(verbatim: isFirst ? "{\"" : ",\"" as StaticString)
      json.add(verbatim: column.name)
      json.add(verbatim: "\":")
      column.value(report).write(to: &json)
      isFirst = false
    }
    json.add(verbatim: "}\n")
  }
}
