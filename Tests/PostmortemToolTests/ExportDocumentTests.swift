import CrashTestSupport
import Foundation
import Testing

@testable import PostmortemTool

/// `Docs/Export.md` and the code have the columns from one table.
@Suite struct ExportDocumentTests {
  private static let path = BuiltProducts.packageRoot + "/Docs/Export.md"

  /// Beginnings of what the table writes in the document, and what ends it.
  private static var parts: [(start: String, end: String, text: String)] {
    let head = "| column | type | unit | is |\n|---|---|---|---|\n"
    let rows = ExportColumn.all.map { $0.row + "\n" }.joined()
    return [
      ("<!-- columns -->\n", "<!-- end -->", head + rows),
      ("<!-- sql: duckdb -->\n```sql\n", "```\n", ExportColumn.duckDBTable + "\n"),
      ("<!-- sql: clickhouse -->\n```sql\n", "```\n", ExportColumn.clickHouseTable + "\n"),
    ]
  }

  /// `UPDATE_DOCUMENTS=1 swift test --filter ExportDocumentTests` writes them.
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

  /// Names that databases take: no column twice, and none that is a reserved word or needs quotes.
  @Test func theNamesAreThoseOfColumns() {
    let names = ExportColumn.all.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(names.allSatisfy { $0.wholeMatch(of: /[a-z][a-z_]*/) != nil })
    // Columns of the first version, in their order: a change of these is a new schema.
    #expect(ExportColumn.schemaVersion == 1)
    #expect(
      Array(names.prefix(37)) == [
        "schema", "report_id", "time", "time_known", "host", "container_id", "program", "version",
        "environment", "executable", "build_id", "kind", "signal", "code", "cause", "message",
        "signature", "place", "frames", "tags", "resident_bytes", "peak_resident_bytes",
        "group_bytes", "group_limit_bytes", "threads", "open_files", "uptime_seconds",
        "hang_seconds", "pid", "architecture", "os", "kernel", "client_id", "state", "complete",
        "cut", "error",
      ])
  }
}
