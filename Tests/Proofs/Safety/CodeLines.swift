import CrashTestSupport
import Foundation

/// Counts the lines of source files that contain code, and are neither blank nor a comment.
struct CodeLines {
  /// The number of lines by path below the package's root.
  let counts: [String: Int]

  var total: Int { counts.values.reduce(0, +) }

  /// Counts those of the given files that are in the package's sources.
  init(of files: some Collection<String>) throws {
    let sources = BuiltProducts.packageRoot + "/Sources/"
    let own = files.map { URL(filePath: $0).standardizedFileURL.path }.filter {
      $0.hasPrefix(sources)
    }
    counts = try Dictionary(
      Set(own).map { path in
        (
          String(path.dropFirst(BuiltProducts.packageRoot.count + 1)),
          Self.count(try String(contentsOfFile: path, encoding: .utf8))
        )
      }, uniquingKeysWith: +)
  }

  static func count(_ text: String) -> Int {
    var isInComment = false
    return text.split(separator: "\n").count { line in
      let code = line.drop(while: \.isWhitespace)
      if isInComment {
        isInComment = !code.contains("*/")
        return false
      }
      if code.hasPrefix("/*") {
        isInComment = !code.contains("*/")
        return false
      }
      return !code.isEmpty && !code.hasPrefix("//")
    }
  }
}
