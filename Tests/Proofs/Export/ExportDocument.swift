import CrashTestSupport
import Foundation

/// The statements of `Docs/Reference/Export.md`.
struct ExportDocument {
  /// A block after a comment `<!-- sql: ENGINE [NAME] -->`.
  struct Statement: Sendable {
    /// "duckdb", "clickhouse" or "both".
    let engine: String
    /// The name of a query; nil for a statement that loads the file.
    let name: String?
    let text: String
  }

  let statements: [Statement]

  init() throws {
    let path = BuiltProducts.packageRoot + "/Docs/Reference/Export.md"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let form = #/<!-- sql: (\w+) ?([\w-]+)? -->\n```sql\n(.*?)```/#.dotMatchesNewlines()
    statements = text.matches(of: form).map { match in
      Statement(
        engine: String(match.1), name: match.2.map { String($0) }, text: String(match.3))
    }
  }

  /// The statements for one engine, in their order, with the questions last.
  func statements(of engine: String) -> [Statement] {
    statements.filter { $0.engine == engine || $0.engine == "both" }
  }
}
