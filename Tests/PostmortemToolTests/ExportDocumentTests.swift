import CrashTestSupport
import DumpInspection
import Foundation
import Testing

@testable import PostmortemTool

/// The columns in `Docs/Reference/Export.md` and in the code come from one table.
@Suite struct ExportDocumentTests {
  private static let path = BuiltProducts.packageRoot + "/Docs/Reference/Export.md"

  /// The generated parts of the document: the start, the end and the text of each.
  private static var parts: [(start: String, end: String, text: String)] {
    let head = "| column | type | unit | meaning |\n|---|---|---|---|\n"
    let rows = ExportColumn.all.map { $0.row + "\n" }.joined()
    return [
      ("<!-- columns -->\n", "<!-- end -->", head + rows),
      ("<!-- sql: duckdb -->\n```sql\n", "```\n", ExportColumn.duckDBTable + "\n"),
      ("<!-- sql: clickhouse -->\n```sql\n", "```\n", ExportColumn.clickHouseTable + "\n"),
    ]
  }

  /// `UPDATE_DOCUMENTS=1 swift test --filter ExportDocumentTests` writes these parts.
  @Test func theColumnsAreThoseOfTheCode() throws {
    var text = try String(contentsOfFile: Self.path, encoding: .utf8)
    for part in Self.parts {
      let start = try #require(text.range(of: part.start)).upperBound
      let end = try #require(text.range(of: part.end, range: start..<text.endIndex)).lowerBound
      if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] != nil {
        text.replaceSubrange(start..<end, with: part.text)
      } else {
        #expect(text[start..<end] == part.text)
      }
    }
    if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] != nil {
      try text.write(toFile: Self.path, atomically: true, encoding: .utf8)
    }
  }

  /// A fact whose row has a column is exported.
  @Test func everyRowWithAColumnIsExported() {
    let columns = IndexNames.all.compactMap { $0.fact.column?.name }
    #expect(columns.count == 12)
    #expect(Set(columns).isSubset(of: ExportColumn.all.map(\.name)))
  }

  /// Databases accept the names: no column occurs twice, and none is a reserved word or needs quotes.
  @Test func theNamesAreThoseOfColumns() {
    let names = ExportColumn.all.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(names.allSatisfy { $0.wholeMatch(of: /[a-z][A-Za-z]*/) != nil })
    // The columns of the first version, in order: changing these requires a new schema version.
    #expect(ExportColumn.schemaVersion == 1)
    #expect(
      Array(names.prefix(37)) == [
        "schemaVersion", "reportID", "time", "timeKnown", "host", "containerID", "program",
        "version",
        "environment", "executable", "buildID", "kind", "signal", "code", "cause", "message",
        "signature", "place", "frames", "tags", "residentBytes", "peakResidentBytes",
        "groupBytes", "groupLimitBytes", "threads", "openFiles", "uptimeSeconds",
        "hangSeconds", "pid", "architecture", "os", "kernel", "clientID", "state", "complete",
        "cut", "error",
      ])
  }
}

extension ExportColumn {
  /// The column's row in the document.
  var row: String {
    let type = kind == .word ? "text" : kind == .texts ? "list of texts" : kind.rawValue
    return "| `\(name)` | \(type)\(isOptional ? " or null" : "") | \(unit) | \(meaning) |"
  }

  /// The column's type in DuckDB.
  var duckDBType: String {
    switch kind {
    case .text, .word: "VARCHAR"
    case .integer: "BIGINT"
    case .number: "DOUBLE"
    case .boolean: "BOOLEAN"
    case .time: "TIMESTAMP"
    case .texts: "VARCHAR[]"
    case .map: "MAP(VARCHAR, VARCHAR)"
    }
  }

  /// The column's type in ClickHouse.
  var clickHouseType: String {
    func optional(_ type: String) -> String { isOptional ? "Nullable(\(type))" : type }
    return switch kind {
    case .text: optional("String")
    case .word: "LowCardinality(\(optional("String")))"
    case .integer: optional("Int64")
    case .number: optional("Float64")
    case .boolean: optional("Bool")
    case .time: "DateTime64(6, 'UTC')"
    case .texts: "Array(String)"
    case .map: "Map(String, String)"
    }
  }

  /// The statement of the document that reads a file in DuckDB.
  static var duckDBTable: String {
    let columns = all.map { "  \($0.name): '\($0.duckDBType)'" }.joined(separator: ",\n")
    return "CREATE TABLE crashes AS SELECT * FROM read_json('crashes.ndjson',\n"
      + "  format = 'newline_delimited', columns = {\n\(columns)\n});"
  }

  /// The statement of the document that makes the table in ClickHouse.
  static var clickHouseTable: String {
    let columns = all.map { "  \($0.name) \($0.clickHouseType)" }.joined(separator: ",\n")
    return
      "CREATE TABLE crashes (\n\(columns)\n) ENGINE = ReplacingMergeTree ORDER BY (time, reportID);"
  }
}
