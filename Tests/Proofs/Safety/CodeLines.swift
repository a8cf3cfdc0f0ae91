import CrashTestSupport
import Foundation

/// Counts the lines of functions that contain code, and are neither blank nor a comment.
struct CodeLines {
  /// A function, and the file in which the debug information places its code.
  struct Function: Hashable {
    let name: String
    let file: String
  }

  /// The number of lines by the file's path below the root; functions that share lines count them once.
  private(set) var counts: [String: Int] = [:]
  /// The number of lines of each function, by its path, its first line and its name.
  private(set) var functions: [String: Int] = [:]

  var total: Int { counts.values.reduce(0, +) }

  /// Counts those of the given functions' lines that are in files of a folder.
  init(
    of extents: [Function: IndexSet], in folder: String = "Sources/",
    root: String = BuiltProducts.packageRoot
  ) throws {
    for (file, functions) in Dictionary(grouping: extents, by: \.key.file) {
      let path = URL(filePath: file).standardizedFileURL.path
      guard path.hasPrefix(root + "/" + folder) else { continue }
      let name = String(path.dropFirst(root.count + 1))
      let code = IndexSet(Self.numbers(try String(contentsOfFile: path, encoding: .utf8)))
      var reached = IndexSet()
      for (function, lines) in functions {
        let own = code.intersection(lines)
        reached.formUnion(own)
        self.functions["\(name):\(lines.first ?? 0) \(function.name)"] = own.count
      }
      counts[name, default: 0] += reached.count
    }
  }

  /// Returns what is above a bound, with the largest files and functions; nil if nothing is.
  func excess(over budget: Int) -> String? {
    guard total > budget else { return nil }
    func largest(_ counts: [String: Int]) -> String {
      counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(15)
        .map { "  \($0.value) \($0.key)\n" }.joined()
    }
    return """
      \(total) code lines, \(total - budget) more than \(budget)
      the largest files:
      \(largest(counts))the largest functions:
      \(largest(functions))
      """
  }

  /// The numbers of the lines with code; the first line has the number 1.
  static func numbers(_ text: String) -> [Int] {
    var isInComment = false
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.indices.filter { index in
      let code = lines[index].drop(while: \.isWhitespace)
      if isInComment || code.hasPrefix("/*") {
        isInComment = !code.contains("*/")
        return false
      }
      return !code.isEmpty && !code.hasPrefix("//")
    }.map { $0 + 1 }
  }
}
