import IntermediateDump
import ProcessSnapshot
import Testing

/// The parts of a dump that the program has set, such as annotations and breadcrumbs.
@Suite struct ClientInformationTests {
  private func read(_ fill: (inout DumpTokens) -> Void) throws -> ProcessSnapshot {
    var dump = DumpTokens()
    fill(&dump)
    dump.end()
    return ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: dump.bytes))
  }

  /// Client information with one value of every kind.
  private var full: ClientInformation {
    var client = ClientInformation()
    let values: [ClientAnnotation.Value?] = [
      .text("a\u{1F600}"), .text(""), .signed(.min), .unsigned(.max),
      .double((-0.5).bitPattern), .bool(true), nil,
    ]
    client.annotations = values.enumerated().map { index, value in
      ClientAnnotation(
        name: "value \(index)", value: value,
        state: ClientAnnotation.State(rawValue: UInt8(index % 4)))
    }
    client.simpleAnnotations = [
      ClientAnnotation(name: "k", value: .text("v"), state: .stale),
      ClientAnnotation(name: nil, value: nil, state: .unreadable),
    ]
    var breadcrumb = ClientInformation.Breadcrumb(text: "b")
    (breadcrumb.time, breadcrumb.uptime, breadcrumb.threadID) = (-1, 2, 3)
    client.breadcrumbs = [breadcrumb, ClientInformation.Breadcrumb(text: "")]
    client.extraMemory = [.init(address: 0x1000, size: 0x10), .init(address: 0x2000, size: 1)]
    var copied = ClientInformation.Attachment(path: "/a")
    (copied.name, copied.size, copied.bytesOmitted) = ("a", 1, 2)
    var failed = ClientInformation.Attachment(path: "/b")
    failed.failure = "why"
    client.attachments = [copied, failed]
    client.userStreamFailures = ["reason"]
    (client.annotationsOmitted, client.simpleAnnotationsOmitted) = (1, 2)
    (client.breadcrumbsLeft, client.breadcrumbsOmitted) = (3, 4)
    (client.memoryRangesOmitted, client.memoryBytesOmitted) = (5, 6)
    (client.attachmentsOmitted, client.contextsOmitted) = (7, 8)
    client.workBreadcrumbs = [breadcrumb]
    client.contexts = [.init(threadID: 3, name: "id", value: "1")]
    client.contexts[0].isCut = true
    client.openContextTable = [1, 2, 3]
    return client
  }

  @Test func whatIsWrittenHasAll() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.client = full
    let bytes = try #require(snapshot.encoded())
    let read = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes))
    #expect(read.client == full)
    #expect(
      full.annotations.map(\.text) == [
        "a\u{1F600}", "", "\(Int64.min)", "\(UInt64.max)", "-0.5", "true", nil,
      ])
  }

  @Test func ofOneNameTheInnermostContextCounts() {
    var client = ClientInformation()
    client.contexts = [(1, "a", "1"), (1, "b", "2"), (2, "a", "3"), (1, "a", "4")].map {
      .init(threadID: $0, name: $1, value: $2)
    }
    let contexts = client.contextsByThread.mapValues { $0.map { "\($0.name)=\($0.value)" } }
    #expect(contexts == [1: ["a=4", "b=2"], 2: ["a=3"]])
  }

  @Test func breadcrumbsAreTimedByTheClocksOfTheCrash() throws {
    let snapshot = try read { dump in
      dump.map(.process) {
        $0.unsigned(.crashTime, 1_000)
        $0.unsigned(.crashUptime, 300)
      }
      dump.array(.workBreadcrumbs) { dump in
        for uptime in [250, 100] as [UInt64] {
          dump.map(.breadcrumb) {
            $0.unsigned(.breadcrumbUptime, uptime)
            $0.text(.breadcrumbText, "\(uptime)")
          }
        }
      }
    }
    #expect(snapshot.client.workBreadcrumbs.map(\.text) == ["100", "250"])
    #expect(snapshot.client.workBreadcrumbs.map(\.time) == [800, 950])
  }

  @Test func laterValuesCountBeforeThoseOfLaunch() throws {
    let snapshot = try read { dump in
      for (key, value) in [(IntermediateDumpKey.simpleAnnotations, "later"), (.annotations, "old")]
      {
        dump.array(key) { dump in
          dump.map(.annotation) {
            $0.text(.annotationName, "k")
            $0.text(.annotationValue, value)
          }
        }
      }
    }
    #expect(snapshot.annotations == ["k": "later"])
  }

  @Test func whatMakesNoSenseIsNotGuessed() throws {
    let snapshot = try read { dump in
      dump.array(.annotationObjects) { dump in
        for (type, data) in [(UInt64(2), [UInt8](repeating: 1, count: 7)), (9, [1]), (1, [0xFF])] {
          dump.map(.annotationObject) {
            $0.text(.annotationName, "\(type)")
            $0.unsigned(.annotationType, type, 1)
            $0.property(.annotationData, data)
            $0.unsigned(.annotationState, 77, 1)
          }
        }
      }
      dump.array(.breadcrumbs) { $0.map(.breadcrumb) { $0.unsigned(.breadcrumbTime, 1) } }
      dump.array(.attachments) { $0.map(.attachment) { _ in } }
      dump.array(.extraMemory) { dump in
        dump.region(.max - 10, nil)
        dump.region(0x1000, [1, 2])
        dump.region(0x1002, [3])
      }
    }
    #expect(snapshot.client.annotations.map(\.value) == [nil, nil, .text("\u{FFFD}")])
    #expect(snapshot.client.annotations.allSatisfy { $0.state == nil })
    #expect(snapshot.client.breadcrumbs.isEmpty && snapshot.client.attachments.isEmpty)
    #expect(snapshot.client.extraMemory == [.init(address: 0x1000, size: 3)])
    #expect(snapshot.memory.bytes(at: 0x1000, count: 3) == [1, 2, 3])
  }
}
