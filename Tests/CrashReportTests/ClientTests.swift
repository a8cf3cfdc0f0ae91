import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The parts of a report that show what the program has set.
@Suite struct ClientTests {
  private func text(_ client: ClientInformation, _ annotations: [String: String] = [:]) -> String {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.process.crashUptime = 10_000_000_000
    snapshot.client = client
    snapshot.launchAnnotations = annotations
    return TextReport.text(of: CrashReport(snapshot: snapshot, symbolicating: false))
  }

  @Test func marksWhatIsNotSimplyTheLastValue() {
    var client = ClientInformation()
    client.annotations = [
      ClientAnnotation(name: "a", value: .signed(1), state: .beingReplaced),
      ClientAnnotation(name: "b", value: .text("x"), state: .stale),
      ClientAnnotation(name: "c", value: .text("y")),
      ClientAnnotation(name: "d\u{1B}", value: nil, state: .unreadable),
    ]
    // Another value of the name has precedence, and the mark does not apply to it.
    let text = text(client, ["b": "given"])
    #expect(text.contains("  a = 1  (a newer value was being written)\n"))
    #expect(text.contains("  b = given\n  c = y\n"))
    #expect(text.contains(": could not be read\n") && !text.contains("\u{1B}"))
    client.annotations[1].value = .text("given")
    #expect(self.text(client, ["b": "given"]).contains("  b = given\n"))
    #expect(self.text(client).contains("  b = given  (a newer value was lost)\n"))
    client.simpleAnnotations = [
      ClientAnnotation(name: "b", value: .text("later"), state: .beingReplaced)
    ]
    #expect(
      self.text(client, ["b": "given"])
        .contains("  b = later  (a newer value was being written)\n"))
  }

  @Test func breadcrumbsOfTheWorkComeFirst() {
    var client = ClientInformation()
    client.breadcrumbs = ["other", "own"].map { .init(text: $0) }
    client.workBreadcrumbs = [.init(text: "own")]
    // If its breadcrumbs are the last ones of all, the report does not repeat them.
    #expect(!text(client).contains("Breadcrumbs of what crashed"))
    client.breadcrumbs.append(.init(text: "later"))
    let both = text(client)
    let own = both.firstRange(of: "Breadcrumbs of what crashed:\n  : own\n")
    let all = both.firstRange(of: "Other breadcrumbs (last 2 of 3):\n  : other\n  : later\n")
    #expect(own != nil && all != nil && own!.upperBound <= all!.lowerBound, "\(both)")
  }

  @Test func workInFlightIsListedByAge() {
    var client = ClientInformation()
    #expect(!text(client).contains("In flight"))
    client.openContextTable = OpenContextTable([]).bytes
    #expect(!text(client).contains("In flight"))
    var entries = (1...9 as ClosedRange<UInt64>).map { second in
      OpenContextTable.Entry(
        at: (10 - second) * 1_000_000_000, work: second,
        [("route", "/\(second)"), ("user", "\u{1B}")])
    }
    entries.append(
      .init(at: 9_500_000_000, work: 9, isNested: true, [("part", "a"), ("route", "/9")]))
    entries.append(.init(at: 11_000_000_000, work: 10, [("later", "")]))
    client.openContextTable = OpenContextTable(entries, omitted: (1_194, 7)).bytes
    let text = text(client)
    let lines = text.split(separator: "\n")
    let first = lines.firstIndex { $0.hasPrefix("In flight") } ?? 0
    #expect(
      lines[first...].prefix(7).map { $0.replacing("\u{1B}", with: "") }.first
        == "In flight (1,204; oldest 9.0 s; 5 more in the dump: --full):", "\(text)")
    #expect(lines[first + 1].hasPrefix("  9.0 s: route=/9 user="))
    #expect(lines[first + 1].hasSuffix(" part=a"))
    #expect(lines[first + 5].hasPrefix("  5.0 s: route=/5 "))
    #expect(lines[first + 6] == "  1,194 of them are not listed")
    #expect(!text.contains("\u{1B}") && lines.allSatisfy { $0.count <= 80 })
    // The values are on one line, which is no wider than a terminal.
    let long = (0..<9).map { ("n\($0)", "123456") }
    client.openContextTable = OpenContextTable([.init(at: 1, work: 1, long)]).bytes
    let line = self.text(client).split(separator: "\n").first { $0.contains("n0=") } ?? ""
    #expect(line.hasSuffix("...") && line.count <= 80)
  }

  @Test func countsWhatIsMissing() {
    var client = ClientInformation()
    var breadcrumb = ClientInformation.Breadcrumb(text: "bad\u{1B}[31m")
    breadcrumb.uptime = 9_000_000_000
    client.breadcrumbs = [breadcrumb]
    (client.breadcrumbsLeft, client.breadcrumbsOmitted) = (7, 2)
    client.attachmentsOmitted = 3
    client.memoryBytesOmitted = 4
    client.attachments = [ClientInformation.Attachment(path: "/log")]
    let text = text(client)
    #expect(text.contains("Breadcrumbs (last 1 of 7, 2 torn):\n  1.0 s before: bad"))
    #expect(!text.contains("\u{1B}"))
    #expect(text.contains("No room for more attachments, 3 times.\n"))
    #expect(text.contains("  4 more bytes left out\n"))
    #expect(text.contains("  /log: not copied yet\n"))
    #expect(!self.text(ClientInformation()).contains("Breadcrumbs"))
  }
}
