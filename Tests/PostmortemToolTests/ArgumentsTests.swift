import Testing

@testable import PostmortemTool

@Suite struct ArgumentsTests {
  private func parse(_ words: [String], operands: ClosedRange<Int> = 0...2) throws -> Arguments {
    try Arguments(
      words, flags: ["--json"], options: ["--database"], operands: operands, help: "Usage: x")
  }

  @Test func sortsWords() throws {
    let arguments = try parse(["a", "--json", "--database", "d", "b"])
    #expect(arguments.operands == ["a", "b"])
    #expect(arguments.has("--json"))
    #expect(arguments["--database"] == "d")
    #expect(try parse(["--database=d=e"])["--database"] == "d=e")
    #expect(try parse(["--", "--json"]).operands == ["--json"])
    #expect(try parse(["-"]).operands == ["-"])
    #expect(try parse([])["--database"] == nil)
  }

  @Test(arguments: [
    ["--database"], ["--unknown"], ["-x"], ["--json=1"], ["a", "b", "c"], ["--jso"],
  ])
  func refuses(_ words: [String]) {
    let error = #expect(throws: ToolError.self) { try parse(words) }
    #expect(error?.exitStatus == 64)
  }

  @Test func repeatsOptions() throws {
    let arguments = try Arguments(
      ["--symbols", "a", "--symbols=b", "file"], options: ["--symbols"], operands: 1...1, help: "")
    #expect(arguments.values(of: "--symbols") == ["a", "b"])
    #expect(arguments["--symbols"] == "b")
    #expect(arguments.values(of: "--database") == [])
  }

  @Test func wantsEnoughOperands() {
    #expect(throws: ToolError.self) { try parse([], operands: 1...1) }
  }
}
