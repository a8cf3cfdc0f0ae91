import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

@Suite struct SurroundingsReportTests {
  private static let id = String(repeating: "0123456789abcdef", count: 4)

  private func snapshot() -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.system.hostName = "web-3"
    snapshot.system.timeZone = ":Europe/Berlin"
    snapshot.process.cgroup.path = "/docker/" + Self.id
    snapshot.process.workingDirectory = "/srv/app"
    snapshot.process.statusText = Array("Uid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\n".utf8)
    let links: [(OpenDescriptor.Kind?, String?, Bool)] = [
      (.device, "/dev/null", false), (.socket, "socket:[1]", false), (.socket, "socket:[2]", false),
      (.file, "/srv/app/log", true), (.file, nil, false),
      (.anonymous, "anon_inode:[eventpoll]", false),
      (nil, nil, false),
    ]
    snapshot.process.descriptors = links.enumerated().map { index, link in
      var descriptor = OpenDescriptor()
      descriptor.number = UInt32(index)
      (descriptor.kind, descriptor.path, descriptor.isDeleted) = link
      descriptor.isCut = link.2
      return descriptor
    }
    snapshot.process.descriptorCount = 9
    return snapshot
  }

  private func report(_ snapshot: ProcessSnapshot) -> CrashReport {
    CrashReport(snapshot: snapshot, symbolicating: false)
  }

  @Test func theTextHasARowForEachAndTheDescriptorsByKinds() {
    let text = TextReport.text(of: report(snapshot()), width: 200)
    let lines = text.split(separator: "\n").map { $0.split { $0 == " " }.joined(separator: " ") }
    for line in [
      "Host web-3, container 0123456789ab, time zone Europe/Berlin", "User 0 for 1000, group 5",
      "Directory /srv/app", "Open files 9",
      "Descriptors 2 files (1 deleted), 2 sockets, 1 device, 1 eventpoll, 1 unknown, and 2 open while they"
        + " were counted",
    ] {
      #expect(lines.contains(line), "\(text)")
    }
    #expect(!text.contains("/srv/app/log"))
  }

  @Test func thePageListsThemAll() {
    let page = HTMLReport.text(of: report(snapshot()))
    for text in [
      "Open descriptors", "file /srv/app/log... (deleted)", "device /dev/null",
      "socket socket:[2]", ">anon_inode:[eventpoll]<", ">unknown<",
    ] {
      #expect(page.contains(text), "\(text)")
    }
  }

  @Test func theCrashHandlersOwnDescriptorsAreMarkedAndTheNumbersAddUp() {
    var snapshot = snapshot()
    for path in [
      "/db/pending-serialized-dumps", "/db/pending-serialized-dumps/app@id.locked", "/proc",
      "/sys/fs/cgroup/app/memory.current",
    ] {
      var descriptor = OpenDescriptor()
      (descriptor.kind, descriptor.path) = (.file, path)
      descriptor.number = UInt32(snapshot.process.descriptors.count)
      snapshot.process.descriptors.append(descriptor)
    }
    snapshot.process.descriptorCount = 12
    let report = report(snapshot)
    let text = TextReport.text(of: report, width: 300)
    #expect(
      text.contains(
        "and 1 open while they were counted; the crash handler opened 4 of them at its start"),
      "\(text)")
    let page = HTMLReport.text(of: report)
    #expect(page.contains("file /db/pending-serialized-dumps/app@id.locked (crash handler)"))
    #expect(!page.contains("file /srv/app/log... (deleted) (crash handler)"))
    snapshot.process.descriptorCount = 11
    #expect(
      !TextReport.text(of: self.report(snapshot), width: 300).contains("while they were counted"))
  }

  @Test func theProcesssOwnMemoryStandsBesideItsGroups() {
    var snapshot = snapshot()
    snapshot.process.cgroup.memoryUsed = 639 << 20
    snapshot.process.statusText = Array("VmHWM:\t25600 kB\nVmRSS:\t19456 kB\n".utf8)
    let text = TextReport.text(of: report(snapshot), width: 200)
    let lines = text.split(separator: "\n").map { $0.split { $0 == " " }.joined(separator: " ") }
    #expect(lines.contains("Memory 19 MiB, at most 25 MiB"), "\(text)")
    #expect(lines.contains("Group memory 639 MiB"))
  }

  @Test func aProcessThatWasAskedForADumpIsNotSaidToHaveCrashed() {
    var snapshot = snapshot()
    var thread = ThreadSnapshot(id: 5)
    (thread.captureMethod, thread.state) = (.crashed, "R")
    snapshot.threads = [thread]
    snapshot.exception = ExceptionSnapshot(threadID: 5)
    snapshot.request = DumpRequest()
    snapshot.request?.kind = .tool
    let report = report(snapshot)
    for text in [TextReport.text(of: report), HTMLReport.text(of: report)] {
      #expect(
        text.contains("Nothing crashed") && text.contains("interrupted for the dump"),
        "\(text)")
      #expect(!text.contains("(crash,"))
    }
  }

  @Test func anEndThatNothingExplainsIsToldByItsLikelyReasonFirst() throws {
    var end = RunEnd()
    (end.kind, end.certainty) = (.unexplained, .possible)
    let text = end.text
    #expect(
      text.hasPrefix("Ended without a crash and without exit: most likely by SIGKILL"), "\(text)")
    #expect(text.contains("kill -9") && text.contains("exec") && text.contains("It left no dump"))
  }

  @Test func moreDescriptorsThanAreListedAreCounted() {
    var snapshot = snapshot()
    snapshot.process.descriptors = (0..<256).map { number in
      var descriptor = OpenDescriptor()
      descriptor.number = UInt32(number)
      descriptor.kind = .socket
      return descriptor
    }
    snapshot.process.descriptorCount = 1000
    // One of them is the descriptor with which the handler read the list.
    let text = TextReport.text(of: report(snapshot))
    #expect(text.contains("256 sockets, and 743 more"))
    #expect(HTMLReport.text(of: report(snapshot)).contains("743 more, not listed"))
    snapshot.process.descriptorCount = 257
    #expect(!HTMLReport.text(of: report(snapshot)).contains("not listed"))
  }

  @Test(arguments: ["memory.stat", "memory.max", "pids.current"])
  func theHandlersCgroupFilesAreNotTheProgramsDescriptors(_ file: String) {
    var descriptor = OpenDescriptor()
    descriptor.path = "/sys/fs/cgroup/shop/" + file
    #expect(descriptor.isHandlers)
    descriptor.path = "/srv/shop/" + file
    #expect(!descriptor.isHandlers)
  }

  @Test func jsonHasEveryPartOfThem() throws {
    let object = try report(snapshot()).jsonObject
    let system = try #require(object["system"] as? [String: Any])
    #expect(system["hostName"] as? String == "web-3")
    #expect(system["containerID"] as? String == Self.id)
    #expect(system["timeZone"] as? String == "Europe/Berlin")
    let process = try #require(object["process"] as? [String: Any])
    #expect(process["workingDirectory"] as? String == "/srv/app")
    let numbers = ["userID", "effectiveUserID", "groupID", "effectiveGroupID"].map {
      process[$0] as? Int
    }
    #expect(numbers == [1000, 0, 5, 5])
    let resources = try #require(object["resources"] as? [String: Any])
    let descriptors = try #require(resources["descriptors"] as? [[String: Any]])
    #expect(descriptors.map { $0["number"] as? Int } == [0, 1, 2, 3, 4, 5, 6])
    #expect(
      descriptors.map { $0["kind"] as? String } == [
        "device", "socket", "socket", "file", "file", "anonymous", nil,
      ])
    let log = descriptors[3]
    #expect(log["path"] as? String == "/srv/app/log")
    #expect(log["cut"] as? Bool == true && log["deleted"] as? Bool == true)
    #expect(log.keys.sorted() == ["cut", "deleted", "kind", "number", "ofHandler", "path"])
    #expect(descriptors[4]["path"] is NSNull)
  }

  @Test func nothingKnownIsNullAndNoRow() throws {
    let report = report(ProcessSnapshot(architecture: .arm64))
    let object = try report.jsonObject
    let system = try #require(object["system"] as? [String: Any])
    for key in ["hostName", "containerID", "timeZone"] { #expect(system[key] is NSNull) }
    let process = try #require(object["process"] as? [String: Any])
    for key in ["workingDirectory", "userID", "effectiveGroupID"] {
      #expect(process[key] is NSNull)
    }
    let resources = try #require(object["resources"] as? [String: Any])
    #expect((resources["descriptors"] as? [Any])?.isEmpty == true)
    let text = TextReport.text(of: report)
    for word in ["Host", "User", "Directory", "Descriptors"] { #expect(!text.contains(word)) }
    #expect(!HTMLReport.text(of: report).contains("Open descriptors"))
  }
}
