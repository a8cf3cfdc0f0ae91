/// A line of `postmortem export`: an object with each column of `ExportColumn`.
enum NDJSONLine {
  static func add(_ report: ExportedReport, to json: inout JSONBytes) {
    var isFirst = true
    for column in ExportColumn.all {
      json.add(verbatim: isFirst ? "{\"" : ",\"" as StaticString)
      json.add(verbatim: column.name)
      json.add(verbatim: "\":")
      json.add(column.value(report))
      isFirst = false
    }
    json.add(verbatim: "}\n")
  }
}
