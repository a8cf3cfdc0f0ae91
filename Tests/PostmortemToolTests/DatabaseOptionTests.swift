import CrashTestSupport
import Foundation
import Testing

@testable import PostmortemTool

/// `DatabaseNameTests` in `Tests/Proofs` runs the commands.
@Suite struct DatabaseOptionTests {
  @Test func everyCommandThatTakesAReportHasTheOption() {
    for command in PostmortemTool.subcommands where command.operands.completion == .report {
      #expect(command.options.contains { $0.name == "--database" }, "\(command.name)")
    }
  }

  @Test func ofTheUsualPlacesOneIsObviousAndTwoAreNot() throws {
    let directory = try TemporaryDirectory()
    let places = ["first", "second", "nothing"].map { directory.path + "/" + $0 }
    for place in places.prefix(2) {
      try FileManager.default.createDirectory(
        atPath: place + "/pending", withIntermediateDirectories: true)
    }
    #expect(try ReportDatabase.found(in: [places[0], places[2]]) == places[0])
    #expect(try ReportDatabase.found(in: [places[2]]) == nil)
    #expect(throws: ToolError.self) { try ReportDatabase.found(in: places) }
  }
}
