import Foundation
import IntermediateDump
import Testing

@testable import CrashHandler

/// The sections of a dump, compared with the document of the format.
@Suite struct SectionTests {
  /// The document, with spaces instead of line breaks.
  private static func document() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = root.appending(path: "Docs/Internals/IntermediateDumpFormat.md")
    return try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
      .joined(separator: " ")
  }

  private static let ofDump = Section.allCases.filter(\.isOfDump)
  private static let behind = Section.allCases.filter { !$0.isOfDump }

  /// A text such as "1 exception, 2 stopping the threads".
  private static func numbered(_ sections: [Section]) -> String {
    sections.map(\.entry.section).sorted { $0.rawValue < $1.rawValue }
      .map { "\($0.rawValue) \($0.name)" }.joined(separator: ", ")
  }

  private static func named(_ sections: [Section]) -> String {
    sections.map { "\($0.entry.section.name)" }.joined(separator: ", ")
  }

  @Test func eachHasANumberOfItsOwnWhichNoOtherOneEverHad() {
    let numbers = Section.allCases.map(\.entry.section)
    #expect(Set(numbers).count == numbers.count)
    #expect(Set(DumpSection.allCases).subtracting(numbers).isEmpty)
  }

  @Test func theyFollowEachOtherInTheOrderOfTheCases() {
    var found: [Section] = []
    var next = Section.first
    while let section = next {
      found.append(section)
      next = section.next
    }
    #expect(found == Section.allCases)
    // An event that abandons the dump's last section must not abandon a section after the end mark.
    #expect(Self.ofDump.last == .writeCapture)
  }

  @Test func theDocumentHasTheirNumbers() throws {
    let document = try Self.document()
    #expect(document.contains("Sections: \(Self.numbered(Self.ofDump)). "))
    #expect(document.contains("After the end mark: \(Self.numbered(Self.behind)). "))
  }

  @Test func theDocumentHasTheirOrder() throws {
    let document = try Self.document()
    #expect(document.contains("Section.swift`: \(Self.named(Self.ofDump)). "))
    #expect(document.contains("After the end mark of a crash: \(Self.named(Self.behind)). "))
  }
}
