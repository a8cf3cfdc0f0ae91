import Foundation
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The limits and the resource use in a report.
@Suite struct ResourceTests {
  private func snapshot(
    openFiles: UInt32 = 3, mappings: UInt32 = 50, memory: UInt64 = 1 << 20, tasks: UInt64 = 2
  ) -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code, exception.address) = (11, 1, 0)
    snapshot.exception = exception
    snapshot.process.processID = 100
    snapshot.process.commandLine = Array("app\0-x\0two words\0\0".utf8)
    snapshot.process.launchUptime = 1_000
    snapshot.process.crashUptime = 3_500
    snapshot.process.limitsText = Array(
      """
      Max stack size            8388608              unlimited            bytes
      Max open files            1024                 4096                 files
      Max address space         unlimited            unlimited            bytes

      """.utf8)
    snapshot.process.descriptorCount = openFiles
    snapshot.process.mappingCount = mappings
    snapshot.process.mappingLimit = 65530
    snapshot.process.oomScoreAdjustment = -250
    snapshot.process.cgroup.path = "/app.slice"
    snapshot.process.cgroup.memoryUsed = memory
    snapshot.process.cgroup.memoryLimit = 100 << 20
    snapshot.process.cgroup.tasksUsed = tasks
    snapshot.process.cgroup.tasksLimit = 64
    snapshot.system.loadAverage = "0.52 1.50 2.25 3/400 77"
    snapshot.system.processorModel = "Fast Processor"
    snapshot.system.processorCount = 4
    snapshot.system.compiler = "Clang 21"
    snapshot.system.swiftVersion = "6.3"
    snapshot.capture.threadsFound = 9
    snapshot.capture.threadsUnlisted = 5
    snapshot.capture.modulesUnlisted = 6
    snapshot.capture.regionsUnlisted = 7
    var thread = ThreadSnapshot(id: 2)
    thread.captureMethod = .stopped
    thread.systemCall = "202 0x0 0x0 0x0 0x0 0x0 0x0 0x7f 0x40"
    thread.schedulingPolicy = 1
    thread.niceValue = 5
    thread.stackBytesOmitted = 3 << 19
    var first = ThreadSnapshot(id: 1)
    first.processorTime = 12_300_000_000
    snapshot.threads = [first, thread]
    var module = ModuleSnapshot(address: 0x1000, size: 0x1000, path: "/none/lib.so")
    module.annotations.list = ["said"]
    module.annotations.simple = ["a": "1"]
    module.annotations.objects = [
      .init(name: "b", type: 1, value: Array("2".utf8)), .init(name: "c", type: 2, value: [3]),
    ]
    snapshot.modules = [module]
    return snapshot
  }

  private func json(_ snapshot: ProcessSnapshot) throws -> [String: Any] {
    try CrashReport(snapshot: snapshot, symbolicating: false).jsonObject
  }

  @Test func jsonHasThem() throws {
    let object = try json(snapshot())
    let resources = try #require(object["resources"] as? [String: Any])
    #expect(
      resources.keys.sorted() == [
        "addressSpaceLimit", "addressSpaceUsed", "controlGroup", "controlGroupMemory",
        "controlGroupTasks", "descriptors", "loadAverage", "mappings", "memory", "memoryPeak",
        "oomScoreAdjustment", "openFiles", "stackLimit", "taskLimit", "threads",
      ])
    #expect(resources["openFiles"] as? [String: Int] == ["used": 3, "limit": 1024])
    #expect(resources["mappings"] as? [String: Int] == ["used": 50, "limit": 65530])
    #expect(
      resources["controlGroupMemory"] as? [String: Int] == ["used": 1 << 20, "limit": 100 << 20])
    #expect(resources["controlGroupTasks"] as? [String: Int] == ["used": 2, "limit": 64])
    #expect(resources["controlGroup"] as? String == "/app.slice")
    #expect(resources["threads"] as? Int == 9)
    #expect(resources["oomScoreAdjustment"] as? Int == -250)
    #expect(resources["stackLimit"] as? Int == 8_388_608)
    #expect(resources["addressSpaceLimit"] is NSNull)
    #expect(resources["loadAverage"] as? [Double] == [0.52, 1.5, 2.25])
    let process = try #require(object["process"] as? [String: Any])
    #expect(process["arguments"] as? [String] == ["app", "-x", "two words", ""])
    #expect(process["uptimeNanoseconds"] as? Int == 2_500)
    let system = try #require(object["system"] as? [String: Any])
    #expect(system["processorModel"] as? String == "Fast Processor")
    #expect(system["compiler"] as? String == "Clang 21")
    #expect(system["swiftVersion"] as? String == "6.3")
    let thread = try #require((object["threads"] as? [[String: Any]])?.last)
    let call = try #require(thread["systemCall"] as? [String: Any])
    #expect(call["number"] as? Int == 202)
    #expect(call["name"] as? String == "futex")
    #expect(thread["schedulingPolicy"] as? String == "fifo")
    #expect(thread["niceValue"] as? Int == 5)
    #expect(thread["processorNanoseconds"] is NSNull)
    let first = try #require((object["threads"] as? [[String: Any]])?.first)
    #expect(first["processorNanoseconds"] as? Int == 12_300_000_000)
    #expect(thread["stackBytesOmitted"] as? Int == 3 << 19)
    let module = try #require((object["modules"] as? [[String: Any]])?.first)
    #expect(module["annotations"] as? [String: String] == ["a": "1", "b": "2"])
    #expect(module["messages"] as? [String] == ["said"])
    let capture = try #require(object["capture"] as? [String: Any])
    #expect(
      ["threadsUnlisted", "modulesUnlisted", "regionsUnlisted"].map { capture[$0] as? Int }
        == [5, 6, 7])
  }

  @Test func nothingKnownIsNull() throws {
    let object = try json(ProcessSnapshot(architecture: .arm64))
    let resources = try #require(object["resources"] as? [String: Any])
    #expect((resources["openFiles"] as? [String: Any])?["used"] is NSNull)
    #expect((resources["openFiles"] as? [String: Any])?["limit"] is NSNull)
    #expect(resources["loadAverage"] is NSNull)
    #expect((object["process"] as? [String: Any])?["arguments"] is NSNull)
    let text = TextReport.text(
      of: CrashReport(snapshot: ProcessSnapshot(architecture: .arm64), symbolicating: false))
    #expect(!text.contains("Resources"))
  }

  /// The report names both times, because the handler may start long after the process.
  @Test func ageAndTimeSinceTheHandlersStart() {
    var snapshot = snapshot()
    snapshot.process.crashTime = 1_763_736_545_000_000_000
    snapshot.process.crashUptime = 5_000_231_000
    snapshot.process.launchUptime = 5_000_000_000
    snapshot.process.startTicks = 498
    let text = TextReport.text(of: CrashReport(snapshot: snapshot, symbolicating: false))
    #expect(text.contains(", the process 20 ms old, 0.23 ms after startHandler\n"), "\(text)")
  }

  @Test func textShowsThem() {
    let text = TextReport.text(of: CrashReport(snapshot: snapshot(), symbolicating: false))
    for line in [
      "Processor  Fast Processor, 4 online",
      "Arguments  -x \"two words\" \"\"", "  Open files   3 of 1024", "  Mappings     50 of 65530",
      "  Threads      9", "  Group memory 1 MiB of 100 MiB", "  Group tasks  2 of 64",
      "  Stack limit  8 MiB", "  Load         0.52 1.5 2.25",
      "Thread 2 (in futex, fifo, nice 5):", "  1.5 MiB of this stack are not in the dump",
      "5 threads are not in the minidump's list.",
    ] {
      #expect(text.contains("\n" + line + "\n"), "no \(line) in\n\(text)")
    }
    let flat = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(flat.contains("6 modules not in the minidump's list; 7 memory regions not in"))
  }

  @Test(
    arguments: [
      (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"),
      (10 << 20 | 1 << 19, "10 MiB"), (1 << 30, "1 GiB"), (.max, "16777215 TiB"),
    ] as [(UInt64, String)])
  func sizes(bytes: UInt64, text: String) {
    #expect(Quantity.size(bytes) == text)
  }

  private func explanation(_ snapshot: ProcessSnapshot) -> String {
    snapshot.explanation() ?? ""
  }

  @Test func whatIsUsedUpIsEvidence() {
    let plain = explanation(snapshot())
    #expect(!plain.isEmpty && !plain.contains("descriptor") && !plain.contains("memory map"))
    #expect(!plain.contains("cgroup"))
    #expect(
      explanation(snapshot(openFiles: 1023))
        == plain + " 1023 file descriptors are open, and the process may have 1024"
        + " (RLIMIT_NOFILE).")
    #expect(explanation(snapshot(openFiles: 1024)).contains("1024 file descriptors"))
    #expect(!explanation(snapshot(openFiles: 1022)).contains("descriptors"))
    #expect(explanation(snapshot(mappings: 65530)).contains("65530 memory mappings"))
    #expect(!explanation(snapshot(mappings: 65529)).contains("mappings"))
    #expect(
      explanation(snapshot(memory: 96 << 20)).hasSuffix(
        "The cgroup uses 96 MiB of the 100 MiB of memory that it may use."))
    #expect(!explanation(snapshot(memory: 94 << 20)).contains("cgroup"))
    #expect(explanation(snapshot(tasks: 64)).contains("64 threads and processes"))
  }

  @Test func anotherProcessSignalIsNotExplainedByResources() {
    var sent = snapshot(openFiles: 1024)
    sent.exception?.code = 0
    sent.exception?.address = nil
    sent.exception?.signalInfo =
      [UInt8](repeating: 0, count: 16) + [55]
      + [UInt8](
        repeating: 0, count: 111)
    #expect(!explanation(sent).contains("descriptors"))
    // The process's own abort is explained by the descriptors.
    sent.exception?.signal = 6
    sent.exception?.code = -6
    sent.exception?.signalInfo?[16] = 100
    #expect(explanation(sent).contains("descriptors"))
    sent.exception = nil
    #expect(explanation(sent).isEmpty)
  }

  @Test(
    arguments: [
      (0, "read"), (202, "futex"), (231, "exit_group"), (334, "rseq"), (335, nil), (423, nil),
      (424, "pidfd_send_signal"), (435, "clone3"), (449, "futex_waitv"),
      (450, "set_mempolicy_home_node"), (451, nil), (-1, nil),
    ] as [(Int, String?)])
  func systemCallNames(number: Int, name: String?) {
    #expect(SystemCallNames.name(number) == name)
  }

  /// The table has numbers for x86_64 only.
  @Test func otherArchitecturesShowTheNumber() throws {
    var snapshot = snapshot()
    snapshot.architecture = .arm64
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    let threads = try #require(try report.jsonObject["threads"] as? [[String: Any]])
    #expect((threads[1]["systemCall"] as? [String: Any])?["name"] is NSNull)
    #expect(TextReport.text(of: report).contains("in system call 202"))
  }
}
