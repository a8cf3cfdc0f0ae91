import CrashTestSupport
import Foundation
import Testing

/// A block of Swift in a document.
///
/// Each block is a program, after `import Postmortem` and `import PostmortemUpload`. A comment `<!-- preamble:
/// ... -->` before the block contains the declarations that it leaves out.
struct CodeBlock: Sendable, CustomTestStringConvertible {
  let document: String
  let line: Int
  let preamble: String
  let code: String

  var testDescription: String { "\(document):\(line)" }

  /// The README and the documents; the articles of DocC are copies of some of them.
  static let documents: [String] = {
    let root = BuiltProducts.packageRoot
    let papers = (try? FileManager.default.subpathsOfDirectory(atPath: root + "/Docs")) ?? []
    return ["README.md"]
      + papers.filter { $0.hasSuffix(".md") }.sorted().map { "Docs/" + $0 }
  }()

  static let all: [CodeBlock] = documents.flatMap { document in
    let path = BuiltProducts.packageRoot + "/" + document
    return blocks(of: (try? String(contentsOfFile: path, encoding: .utf8)) ?? "", in: document)
  }

  static func blocks(of text: String, in document: String) -> [CodeBlock] {
    var blocks: [CodeBlock] = []
    var preamble: [String] = []
    var code: [String]?
    var isComment = false
    for (index, line) in text.components(separatedBy: "\n").enumerated() {
      if let lines = code {
        guard line == "```" else {
          code = lines + [line]
          continue
        }
        blocks.append(
          CodeBlock(
            document: document, line: index + 1 - lines.count,
            preamble: preamble.joined(separator: "\n"), code: lines.joined(separator: "\n")))
        (code, preamble) = (nil, [])
      } else if line.hasPrefix("```swift") {
        code = []
      } else if isComment || line.hasPrefix("<!-- preamble:") {
        isComment = !line.hasSuffix("-->")
        preamble.append(
          line.replacing("<!-- preamble:", with: "").replacing("-->", with: ""))
      } else if !line.isEmpty {
        // The preamble belongs to the next block only.
        preamble = []
      }
    }
    return blocks
  }

  /// True if the block is part of a manifest: dependencies of a package or of a target.
  var isManifest: Bool {
    code.hasPrefix(".package(") || code.hasPrefix(".product(")
      || code.contains("import PackageDescription")
  }

  /// The whole source file of the block.
  var source: String {
    if code.hasPrefix(".package(") {
      return "import PackageDescription\nlet list: [Package.Dependency] = [\n\(code)\n]\n"
    }
    if code.hasPrefix(".product(") {
      return "import PackageDescription\nlet list: [Target.Dependency] = [\n\(code)\n]\n"
    }
    if isManifest { return code }
    return "import Postmortem\nimport PostmortemUpload\n\(preamble)\n\(code)\n"
  }
}
