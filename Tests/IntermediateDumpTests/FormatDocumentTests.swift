import DumpInspection
import Foundation
import IntermediateDump
import Testing

/// The specification and the code agree.
@Suite struct FormatDocumentTests {
  /// `UPDATE_DOCUMENTS=1 swift test --filter FormatDocumentTests` writes the rows into the document.
  @Test func theTableIsThatOfTheSchema() throws {
    let keys = IntermediateDumpKey.allCases.sorted { $0.rawValue < $1.rawValue }
    let expected = keys.map(FormatDocument.row(of:))
    if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] != nil {
      try FormatDocument.replaceRows(by: expected)
    }
    let written = try FormatDocument().rows
    for row in Set(expected).subtracting(written).sorted() { Issue.record("missing: \(row)") }
    for row in Set(written).subtracting(expected).sorted() { Issue.record("not so: \(row)") }
    #expect(written == expected)
  }

  @Test func theExampleIsWhatTheWriterWrites() throws {
    let written = IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.process)
      writer.unsigned(.processID, 4242, width: 4)
      writer.text(.executablePath, "/a/b")
      writer.end()
      writer.startMap(.exception)
      writer.unsigned(.exceptionThreadID, 4242, width: 4)
      writer.signed(.signalNumber, 11, width: 4)
      writer.end()
      writer.startArray(.threads)
      writer.startMap(.thread)
      writer.unsigned(.threadID, 4243, width: 4)
      writer.unsigned(.captureMethod, 2, width: 1)
      writer.end()
      writer.end()
      writer.startMap(.capture)
      writer.unsigned(.bytesOmitted, 0)
      writer.end()
      _ = writer.endDocument()
    }
    var expected = try FormatDocument().exampleBytes
    try #require(expected.count == 131)
    // The header contains the architecture of the machine that writes it.
    expected[10] = IntermediateDumpFormat.currentArchitecture
    #expect(written == expected)
  }

  @Test func theExampleIsReadAndPrintedAsTheDocumentSays() throws {
    let example = try FormatDocument()
    let document = try IntermediateDumpDocument(parsing: example.exampleBytes)
    #expect(document.isComplete)
    #expect(document.architecture == 1)
    #expect(document.writer == "swift-postmortem")
    #expect(document.root.map(.process)?.unsigned(.processID) == 4242)
    #expect(document.root.map(.process)?.text(.executablePath) == "/a/b")
    #expect(document.root.map(.exception)?.signed(.signalNumber) == 11)
    #expect(document.root.array(.threads).map { $0.unsigned(.threadID) } == [4243])
    #expect(document.root.map(.capture)?.unsigned(.bytesOmitted) == 0)
    #expect("\(IntermediateDumpTree(document))" == example.exampleTree)
  }
}
