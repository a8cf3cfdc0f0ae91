import IntermediateDump
import ProcessSnapshot
import Testing

@Suite struct ResourceReadingTests {
  private func snapshot() throws -> ProcessSnapshot {
    ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: HandlerDump.bytes()))
  }

  @Test func processAndSystem() throws {
    let read = try snapshot()
    #expect(read.process.uptime == 1_000)
    #expect(read.process.arguments == ["prog", "a b"])
    #expect(read.process.limitsText == Array(HandlerDump.limitsText.utf8))
    #expect(read.process.descriptorCount == 7)
    #expect(read.process.mappingCount == 8)
    #expect(read.process.mappingLimit == 65530)
    let group = read.process.cgroup
    #expect(group.path == "/g")
    #expect(
      [group.memoryUsed, group.memoryLimit, group.tasksUsed, group.tasksLimit] == [9, 10, 11, 12])
    #expect(read.system.loadAverage == "0.50 0.25 0.00 1/99 12")
    #expect(read.system.processorModel == "Some Processor")
    #expect(read.system.processorText == Array("processor\t: 0\n".utf8))
    #expect(read.system.releaseText == Array("ID=some\n".utf8))
    #expect(read.system.compiler == "Clang")
    let limits = try #require(read.process.limits)
    #expect(limits.openFiles == ResourceLimit(soft: 1024, hard: 524_288))
    #expect(limits.stackSize == ResourceLimit(soft: 8_388_608, hard: nil))
    #expect(limits.addressSpace == ResourceLimit(soft: nil, hard: nil))
  }

  @Test func threads() throws {
    let threads = try snapshot().threads
    #expect(threads[1].schedulingPolicy == 3)
    #expect(threads[1].niceValue == -7)
    #expect(threads[1].systemCallNumber == 202)
    #expect(threads[0].systemCall == nil)
    #expect(threads[0].systemCallNumber == nil)
  }

  @Test func linkMap() throws {
    let map = try #require(try snapshot().linkMap)
    #expect(map.version == 1)
    #expect(map.state == 2)
    #expect([map.breakpoint, map.loaderBase, map.dynamicSection] == [0xB0, 0xB1, 0xB3])
    #expect(map.debugAddress == 0xB2)
    #expect(map.dynamicData == [1, 2, 3])
    #expect(
      map.entries == [
        LinkMap.Entry(address: 0xC0, dynamicSection: 0xD0, name: ""),
        LinkMap.Entry(address: 0xC9, dynamicSection: 0xD0, name: "/lib/a.so"),
      ])
  }

  @Test(
    arguments: [
      ("running", nil), ("-1 0x7ffd 0x7f00", nil), ("0 0x3 0x0 0x0 0x0 0x0 0x0 0x1 0x2", 0),
      ("", nil), (" ", nil), ("x", nil), ("99999999999999999999 0x0", nil), ("39", 39),
    ] as [(String, Int?)])
  func systemCallNumbers(text: String, number: Int?) {
    var thread = ThreadSnapshot(id: 1)
    thread.systemCall = text
    #expect(thread.systemCallNumber == number)
  }

  @Test(
    arguments: [
      ([], []), ([0], [""]), (Array("a\0".utf8), ["a"]), (Array("a\0\0b".utf8), ["a", "", "b"]),
      (Array("a\0\0".utf8), ["a", ""]),
    ] as [([UInt8], [String])])
  func arguments(bytes: [UInt8], arguments: [String]) {
    var process = ProcessDescription()
    process.commandLine = bytes
    #expect(process.arguments == arguments)
  }

  @Test(arguments: [
    "Max open files", "Max open files            12", "Max open files   x  y  files",
    "max open files 1 2 files", "Max open files 18446744073709551616 1 files", "",
  ])
  func limitsThatAreNoneAreNil(text: String) {
    #expect(ResourceLimits(parsing: Array(text.utf8)[...]).openFiles == nil)
  }

  @Test func ageIsSinceTheFork() {
    var process = ProcessDescription()
    process.crashUptime = 5_259_000_000
    #expect(process.age == nil && process.startTime == nil)
    process.startTicks = 500
    // Ticks are in steps of 10 ms.
    #expect(process.age == 250_000_000 && process.startTime == nil)
    process.crashTime = 1_000_000_000
    #expect(process.startTime == 750_000_000)
    process.startTicks = 526
    #expect(process.age == nil)
    process.startTicks = .max
    #expect(process.age == nil)
  }

  @Test func uptimeNeedsBothClocksInOrder() {
    var process = ProcessDescription()
    process.crashUptime = 5
    #expect(process.uptime == nil)
    process.launchUptime = 6
    #expect(process.uptime == nil)
    process.launchUptime = 2
    #expect(process.uptime == 3)
  }

  /// The code of a signal, and whether its siginfo names a sender.
  @Test(
    arguments: [
      (0, true), (-1, true), (-3, true), (-6, true), (-2, false), (-4, false), (-5, false),
      (1, false), (0x80, false),
    ] as [(Int32, Bool)])
  func senders(code: Int32, isNamed: Bool) {
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code) = (10, code)
    // The process ID, the user ID and the value, from byte 16 on.
    exception.signalInfo =
      [UInt8](repeating: 0, count: 16) + [
        1, 2, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 9, 0, 0, 0, 0, 0, 0, 1,
      ]
    let sender = ExceptionSnapshot.Sender(
      processID: 0x201, userID: .max, value: 0x0100_0000_0000_0009)
    #expect(exception.sender == (isNamed ? sender : nil))
    #expect(exception.wasSent == (code <= 0))
    exception.signalInfo = [UInt8](repeating: 1, count: 31)
    #expect(exception.sender == nil)
    exception.signalInfo = nil
    #expect(exception.sender == nil)
  }

  @Test func trappedSystemCall() {
    var exception = ExceptionSnapshot(threadID: 1)
    (exception.signal, exception.code) = (31, 1)
    exception.signalInfo =
      [UInt8](repeating: 0, count: 16) + [0x10, 0x20, 0, 0, 0, 0, 0, 0, 0xA9, 0, 0, 0]
      + [0x3E, 0, 0, 0xC0]
    #expect(
      exception.systemCall
        == .init(address: 0x2010, number: 169, architecture: 0xC000_003E))
    exception.signal = 11
    #expect(exception.systemCall == nil)
    (exception.signal, exception.code) = (31, 0)
    #expect(exception.systemCall == nil)
  }
}
