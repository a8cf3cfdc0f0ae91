import Foundation
import Testing

@Suite struct NameTests {
  /// Names of other projects, of formats, and placeholders that a reader replaces.
  private static let foreign: Set<String> = [
    // Names of Crashpad.
    "ExceptionHandler", "SimpleStringDictionary", "StringAnnotation",
    // Names of LLDB, Kubernetes and SwiftPM.
    "RegisterContextMinidump_ARM64", "mountOptions", "unsafeFlags",
    // Names of SwiftNIO, Hummingbird, Vapor, swift-log and ServiceLifecycle.
    "EventLoopGroup", "LogHandler", "Middleware",
    "MultiThreadedEventLoopGroup", "NIOAsyncChannel", "Responder", "ServiceGroup", "eventLoopGroup",
    "whenComplete",
    // Parts of linkage names.
    "CrashLab_main",
    // Keys of a postponed design, decision 17.
    "breadcrumbLevel", "breadcrumbMetadata",
    // A field of Breakpad's form.
    "ProductName",
  ]

  /// The words of a text that could be names in Swift or C.
  private static func words(in text: String) -> Set<Substring> {
    var words: Set<Substring> = []
    let bytes = text.utf8
    var start: String.Index?
    var index = bytes.startIndex
    while index != bytes.endIndex {
      let byte = bytes[index]
      let isLetter = byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A
      let isPart = isLetter || byte == 0x5F || byte >= 0x30 && byte <= 0x39
      if isPart, start == nil { start = index }
      if !isPart, let first = start {
        words.insert(text[first..<index])
        start = nil
      }
      index = bytes.index(after: index)
    }
    if let start { words.insert(text[start...]) }
    return words
  }

  /// The parts of names between backticks, such as `HangMonitor` and `stop` of `HangMonitor.stop()`.
  ///
  /// Single words in lower case are left out, because they may be anything.
  private static func names(in document: String) -> [Substring] {
    var names: [Substring] = []
    for match in document.matches(of: /`([A-Za-z_][\w.]*)(?:\([\w:,. ]*\))?`/) {
      for name in match.1.split(separator: ".")
      where name.contains(/[a-z][A-Z]/) || name.wholeMatch(of: /[A-Z][a-z]+/) != nil {
        names.append(name)
      }
    }
    return names
  }

  private static func withoutBlocks(_ document: String) -> String {
    var parts = document.components(separatedBy: "```")
    for index in parts.indices where index % 2 == 1 { parts[index] = "" }
    return parts.joined()
  }

  @Test func eachNameOfCodeInADocumentIsANameInTheCode() throws {
    let files = try FileManager.default.subpathsOfDirectory(atPath: House.root)
      .filter { !$0.hasPrefix(".build/") && !$0.hasPrefix(".git/") }
    var known: Set<Substring> = []
    for file in files
    where ["Sources/", "Tests/", "Examples/", "Package.swift"].contains(where: file.hasPrefix) {
      // Documents name files, too.
      known.formUnion(Self.words(in: file))
      let isCode =
        [".swift", ".c", ".h", ".py", ".sh"].contains { file.hasSuffix($0) }
        || file.hasPrefix("Examples/Deployment/")
      // The list above does not count as code.
      guard isCode, !file.hasPrefix("Tests/HouseTests/") else { continue }
      known.formUnion(Self.words(in: try House.text(file)))
    }
    let knowsMonitor = known.contains("HangMonitor")
    #expect(knowsMonitor)
    let documents = files.filter {
      $0.hasSuffix(".md")
        && ($0.hasPrefix("Docs/") || $0.hasPrefix("Sources/") || $0 == "README.md"
          || $0 == "CONTRIBUTING.md")
    }
    var count = 0
    var used: Set<String> = []
    for document in documents {
      for name in Self.names(in: Self.withoutBlocks(try House.text(document))) {
        count += 1
        if Self.foreign.contains(String(name)) {
          used.insert(String(name))
          continue
        }
        let isKnown = known.contains(name)
        #expect(isKnown, "\(document) says `\(name)`")
      }
    }
    #expect(count > 500)
    // A name that no document mentions must be removed from the list.
    #expect(used == Self.foreign)
  }

  @Test func theCheckerFindsWhatIsPlanted() {
    let names = Self.names(in: Self.withoutBlocks("`Gone.stop()` and\n```\n`Hidden`\n```\n`word`"))
    #expect(names == ["Gone"])
    #expect(Self.words(in: "a.Bee(c_1)") == ["a", "Bee", "c_1"])
  }
}
