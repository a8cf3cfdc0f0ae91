import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashReport

/// What a report says of what the program told.
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
    // Another value of the name counts, which the mark is not for.
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
    // The last of all: nothing to add.
    #expect(!text(client).contains("Breadcrumbs of what crashed"))
    client.breadcrumbs.append(.init(text: "later"))
    let both = text(client)
    let own = both.firstRange(of: "Breadcrumbs of what crashed:\n  : own\n")
    let all = both.firstRange(of: "Breadcrumbs (last 3 of 3):\n")
    #expect(own != nil && all != nil && own!.upperBound <= all!.lowerBound, "\(both)")
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
    #expect(text.contains("Breadcrumbs (last 1 of 7, 2 torn):\n  1000 ms before: bad"))
    #expect(!text.contains("\u{1B}"))
    #expect(text.contains("No room for more attachments, 3 times.\n"))
    #expect(text.contains("  4 more bytes left out\n"))
    #expect(text.contains("  /log: not copied yet\n"))
    #expect(!self.text(ClientInformation()).contains("Breadcrumbs"))
  }
}
