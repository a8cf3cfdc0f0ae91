import Foundation
import Testing

/// Only the module `IntermediateDump` defines the numbers of a dump's codes.
@Suite struct DumpCodeTests {
  /// The keys of the schema whose values are codes, each with the type of its codes.
  private static func codeKeys() throws -> [String: String] {
    let rows = try House.text("Sources/DumpInspection/IntermediateDumpKey+Definitions.swift")
    var keys: [String: String] = [:]
    for match in rows.matches(of: /case \.(\w+):\s+\.code\((\w+)\.self/) {
      keys[String(match.1)] = String(match.2)
    }
    return keys
  }

  /// The lines of a text that write a number under a key whose value is a code.
  private static func bareNumbers(in text: String, _ keys: some Collection<String>) -> [String] {
    text.split(separator: "\n").filter { line in
      guard let start = line.range(of: "signed(.") else { return false }
      let rest = line[start.upperBound...]
      guard keys.contains(String(rest.prefix { $0.isLetter })), let comma = rest.firstIndex(of: ",")
      else { return false }
      let value = rest[rest.index(after: comma)...].prefix { $0 != "," }
      return value.contains("rawValue")
        || value.split { !$0.isLetter && !$0.isNumber }
          .contains { $0.first?.isNumber == true }
    }.map(String.init)
  }

  /// The lines of a text that compare the value of such a key with a number.
  private static func comparisons(in text: String, _ keys: some Collection<String>) -> [String] {
    text.split(separator: "\n").filter { line in
      guard line.contains("signed(."),
        let match = line.firstMatch(of: /signed\(\.(\w+)\)\s*(==|!=|<|>|<=|>=)\s*-?[0-9]/)
      else {
        return false
      }
      return keys.contains(String(match.1))
    }.map(String.init)
  }

  /// The modules that write or read dumps, except for the module of the format.
  private static let others = [
    "CoreFile", "CrashAnalysis", "CrashConverter", "CrashHandler", "CrashReport",
    "CrashReportDatabase",
    "CrashReportUpload", "DumpInspection", "HangDetection", "Minidump", "PendingDumps",
    "PostmortemTool", "ProcessSnapshot", "Stackwalk",
  ].map { "Sources/" + $0 }

  /// The types in a text with numbered cases, such as `case name = 1`.
  private static func numberedTypes(in text: String) -> [String] {
    var (found, type): ([String], String?) = ([], nil)
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if let index = words.firstIndex(of: "enum"), index + 2 < words.count {
        let isNumbered = words[index + 2].hasPrefix("UInt") || words[index + 2].hasPrefix("Int")
        type =
          words[index + 1].hasSuffix(":") && isNumbered ? String(words[index + 1].dropLast()) : nil
      } else if let name = type, words.first == "case", words.count == 4, words[2] == "=",
        words[3].first?.isNumber == true
      {
        found.append(name)
        type = nil
      }
    }
    return found
  }

  @Test func crashCodeWritesACodeByItsTypeNeverByANumber() throws {
    // schedulingPolicy has the kernel's own numbers, which are written unchanged.
    let keys = try Self.codeKeys().keys.filter { $0 != "schedulingPolicy" }
    #expect(keys.count >= 12)
    for directory in Self.others {
      for file in try House.swiftFiles(in: directory) {
        #expect(Self.bareNumbers(in: file.text, keys) == [], "\(file.path)")
        #expect(Self.comparisons(in: file.text, keys) == [], "\(file.path)")
        #expect(!file.text.contains("firstIndex(of: self)"), "\(file.path) numbers by an order")
      }
    }
    for file in try House.swiftFiles(in: "Sources/IntermediateDump") {
      for type in Set(try Self.codeKeys().values) where file.text.contains("enum \(type)") {
        #expect(file.text.contains("enum \(type): UInt8, DumpCode"), "\(type)")
      }
    }
  }

  @Test func noOtherModuleNumbersValuesThatADumpHolds() throws {
    // The numbers of these enums are used only in memory, or only as an order.
    let others: Set = ["Status", "Section"]
    // These files have the numbers of other formats: index records and ELF notes.
    let formats = ["CrashReportDatabase/Index/ReportDetails.swift", "CoreFile/CoreNotes.swift"]
    for directory in Self.others {
      for file in try House.swiftFiles(in: directory)
      where !formats.contains(where: file.path.hasSuffix) {
        #expect(Set(Self.numberedTypes(in: file.text)).subtracting(others) == [], "\(file.path)")
      }
    }
  }

  @Test func theCheckerFindsWhatIsPlanted() {
    let keys = ["captureMethod"]
    #expect(Self.bareNumbers(in: "output.unsigned(.captureMethod, 3, width: 1)", keys).count == 1)
    #expect(
      Self.bareNumbers(in: "output.unsigned(.captureMethod, method.code, width: 1)", keys) == [])
    #expect(Self.bareNumbers(in: "output.unsigned(.captureMethod, kind.rawValue)", keys).count == 1)
    #expect(Self.bareNumbers(in: "output.unsigned(.threadID, 3, width: 4)", keys) == [])
    #expect(Self.numberedTypes(in: "enum Way: UInt8 {\n  /// One.\n  case one = 1\n}") == ["Way"])
    #expect(Self.numberedTypes(in: "enum Way { case one }") == [])
    #expect(Self.comparisons(in: "map.unsigned(.captureMethod) == 3", keys).count == 1)
    #expect(Self.comparisons(in: "map.unsigned(.isIncomplete) == 1", keys) == [])
  }
}
