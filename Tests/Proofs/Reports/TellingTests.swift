import CrashAnalysis
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Testing

/// Values that a program sets, through a crash and a conversion, in reports and other readers.
@Suite struct TellingTests {
  private static let annotations = [
    "connections": "-17", "early": "yes", "launch": "given", "load": "0.25", "ready": "true",
    "requests": "18446744073709551615", "route": "GET /orders/\u{1F600}", "tenant": "acme",
  ]

  @Test func isInTheReport() async throws {
    let teller = try await Teller()
    try teller.write("second/app.log", Data(repeating: 0x7A, count: 5_000_000))
    #expect(try await teller.run("crash").end.signal == SIGABRT)
    try await teller.process()
    let stored = try teller.onlyStored()
    let report = try teller.report(stored)
    #expect(report.snapshot.annotations == Self.annotations)
    let client = report.snapshot.client
    let told = client.annotations + client.simpleAnnotations
    let types = Dictionary(
      uniqueKeysWithValues: told.map { ($0.name ?? "", $0.value?.type.word ?? "") })
    #expect(
      types == [
        "route": "string", "connections": "int", "requests": "uint", "load": "double",
        "ready": "bool", "early": "string", "tenant": "string",
      ])
    #expect(told.allSatisfy { $0.state == nil })
    #expect(client.breadcrumbs.map(\.text) == (73...200).map { "step \($0)" })
    #expect(client.breadcrumbsLeft == 202 && client.breadcrumbsOmitted == nil)
    #expect(client.breadcrumbs.allSatisfy { $0.threadID == report.snapshot.exception?.threadID })
    let ages = client.breadcrumbs.compactMap(report.age(of:))
    #expect(ages.count == 128 && ages == ages.sorted(by: >))
    let times = client.breadcrumbs.compactMap(\.time)
    let launch = try #require(report.snapshot.process.launchTime)
    let crash = try #require(report.snapshot.process.crashTime)
    #expect(times.count == 128 && times.allSatisfy { $0 >= launch && $0 <= crash })
    #expect(client.extraMemory.map(\.size) == [4096, 12_000])
    #expect(!report.isCaptured(client.extraMemory[0]))
    #expect(report.isCaptured(client.extraMemory[1]))
    let text = TextReport.text(of: report, isFull: true)
    for expected in [
      "  route = GET /orders/\u{1F600}\n", "Breadcrumbs (last 128 of 202):\n", ": step 200\n",
      "  app.log, 18 bytes, of \(teller.directory.path)/files/app.log\n",
      "/missing.log: ", "  2-app.log, 4194304 bytes, without the first 805696, of ",
      "Extra memory:\n",
    ] {
      #expect(text.contains(expected), "no '\(expected)' in\n\(text)")
    }
    let attachments = try CrashReportDatabase(path: teller.database).attachments(of: stored.id)
    #expect(attachments.map(\.name) == ["2-app.log", "app.log"])
    #expect(attachments.map(\.size) == [4 << 20, 18])
    // The minidump is the same after it is read and written again.
    let snapshot = try teller.snapshot(stored)
    #expect(snapshot.client.attachments.count == 3)
    #expect(try CrashReportDatabase(path: teller.database).delete(stored.id))
    let left = try FileManager.default.contentsOfDirectory(
      atPath: teller.database + "/attachments")
    #expect(left.isEmpty, "\(left)")
  }

  /// Follows Crashpad's structures by hand, starting from the stream's number.
  @Test(.needs(.python3)) func isWhereCrashpadsReadersLook() async throws {
    let teller = try await Teller()
    try await teller.run("crash")
    try await teller.process("good")
    let script = """
      import struct, sys
      data = open(sys.argv[1], 'rb').read()
      count, directory = struct.unpack_from('<II', data, 8)
      streams = {}
      for index in range(count):
        kind, size, rva = struct.unpack_from('<III', data, directory + 12 * index)
        streams[kind] = (size, rva)
      def text(rva):
        length, = struct.unpack_from('<I', data, rva)
        assert data[rva + 4 + length] == 0
        return data[rva + 4:rva + 4 + length].decode()
      def dictionary(location):
        size, rva = struct.unpack_from('<II', data, location)
        if size == 0: return {}
        n, = struct.unpack_from('<I', data, rva)
        assert size == 4 + 8 * n
        pairs = [struct.unpack_from('<II', data, rva + 4 + 8 * i) for i in range(n)]
        return {text(k): text(v) for k, v in pairs}
      size, info = streams[0x43500001]
      assert size == 64 and struct.unpack_from('<I', data, info)[0] == 1
      print(sorted(dictionary(info + 36).items()))
      size, links = struct.unpack_from('<II', data, info + 44)
      n, = struct.unpack_from('<I', data, links)
      assert n == 1 and size == 16
      index, size, module = struct.unpack_from('<III', data, links + 4)
      assert size == 28 and struct.unpack_from('<I', data, module)[0] == 1
      size, objects = struct.unpack_from('<II', data, module + 20)
      n, = struct.unpack_from('<I', data, objects)
      found = {}
      for i in range(n):
        name, kind, reserved, value = struct.unpack_from('<IHHI', data, objects + 4 + 12 * i)
        assert (kind, reserved) == (1, 0)
        length, = struct.unpack_from('<I', data, value)
        found[text(name)] = data[value + 4:value + 4 + length].decode()
      print(sorted(found.items()))
      size, modules = streams[4]
      name, = struct.unpack_from('<I', data, modules + 4 + 108 * index + 20)
      length, = struct.unpack_from('<I', data, name)
      print(data[name + 4:name + 4 + length].decode('utf-16-le').split('/')[-1])
      size, rva = streams[0xCAFEBABE]
      print(data[rva:rva + size].decode())
      """
    let lines = try await teller.python(script)
    try #require(lines.count == 4, "\(lines)")
    func pairs(_ values: [String: String]) -> String {
      let items = values.sorted { $0.key < $1.key }.map { "('\($0.key)', '\($0.value)')" }
      return "[\(items.joined(separator: ", "))]"
    }
    #expect(lines[0] == pairs(Self.annotations))
    #expect(
      lines[1]
        == pairs(
          Self.annotations.filter { !["early", "launch", "tenant"].contains($0.key) }))
    #expect(lines[2] == "crash-lab")
    #expect(lines[3] == "of 6")
  }

  @Test(
    .needs(.python3),
    .enabled("needs PyPI's minidump 0.0.24") {
      try await PythonModule.isWanted("minidump.minidumpfile")
    })
  func extraMemoryIsInTheMemoryList() async throws {
    let teller = try await Teller()
    try await teller.run("crash")
    try await teller.process()
    let range = try #require(try teller.snapshot(try teller.onlyStored()).client.extraMemory.last)
    let script = """
      import sys, logging
      logging.disable(logging.CRITICAL)
      from minidump.minidumpfile import MinidumpFile
      dump = MinidumpFile.parse(sys.argv[1])
      bytes = dump.get_reader().read(int(sys.argv[2]), 12000)
      print(bytes == bytes.__class__(i % 251 for i in range(12000)))
      """
    #expect(try await teller.python(script, ["\(range.address.value)"]) == ["True"])
  }

  /// True if the parts of a value belong together.
  private func isWhole(_ annotation: ClientAnnotation) -> Bool {
    guard let name = annotation.name, let value = annotation.text else {
      return annotation.state == .unreadable
    }
    if name == "storm" {
      let parts = value.split(separator: ":", omittingEmptySubsequences: false)
      return parts.count == 2 && Int(parts[0]) == parts[1].count && Set(parts[1]).count <= 1
    }
    return !name.hasPrefix("storm-") || isPair(value)
  }

  private func isPair(_ text: String) -> Bool {
    let parts = text.split(separator: "=")
    return parts.count == 2 && parts[0] == parts[1]
  }

  @Test(arguments: ["storm", "dump"])
  func nothingIsTornWhateverWasBeingSet(_ scene: String) async throws {
    let teller = try await Teller()
    let child = try await teller.run(scene)
    #expect(scene == "dump" ? child.end.exitCode == 0 : child.end.signal == SIGABRT)
    try await teller.process()
    let stored = try teller.stored
    #expect(stored.count == (scene == "dump" ? 5 : 1))
    for stored in stored {
      let client = try teller.snapshot(stored).client
      for annotation in client.annotations + client.simpleAnnotations {
        #expect(isWhole(annotation), "\(annotation)")
      }
      #expect(client.annotations.contains { $0.name == "storm" })
      #expect(client.breadcrumbs.allSatisfy { isPair($0.text) || $0.text.hasPrefix("step ") })
      // The report counts the missing breadcrumbs. In the other scenes, threads continue while the dump is taken.
      if scene == "storm" {
        #expect(client.breadcrumbs.count + Int(client.breadcrumbsOmitted ?? 0) == 128)
      }
      #expect(client.attachments.count == 3)
    }
  }

  /// Tested without optimization, including the first time that something is set.
  @Test(.needs(.gdb)) func tellingNeitherLocksNorAllocates() async throws {
    let teller = try await Teller()
    let lines = try await teller.stops(
      at: ["malloc", "calloc", "realloc", "pthread_mutex_lock", "syscall"])
    #expect(lines == ["telling_begins", "telling_ends"])
  }

  @Test func aHangsDumpHasItToo() async throws {
    let teller = try await Teller()
    #expect(try await teller.run("hang").end.exitCode == 0)
    try await teller.process()
    // On a busy machine, there may be more hangs than the test asks for.
    let report = try teller.report(try #require(try teller.stored.first))
    #expect(report.snapshot.request?.kind == .hang)
    #expect(report.snapshot.annotations == Self.annotations)
    #expect(report.snapshot.client.breadcrumbs.last?.text == "step 200")
    #expect(report.snapshot.client.attachments.first?.name == "app.log")
  }

  @Test func aForkedChildHasItsOwn() async throws {
    let teller = try await Teller()
    #expect(try await teller.run("fork").end.signal == SIGABRT)
    try await teller.process()
    let reports = try teller.stored.map { try teller.report($0) }
    #expect(reports.count == 2)
    let child = try #require(reports.first { $0.snapshot.annotations["tenant"] == "child" })
    let parent = try #require(reports.first { $0.snapshot.annotations["tenant"] == "acme" })
    #expect(
      child.snapshot.annotations["connections"] == "1" && child.snapshot.annotations["route"] != nil
    )
    #expect(parent.snapshot.annotations == Self.annotations)
    #expect(
      child.snapshot.client.breadcrumbs.suffix(2).map(\.text) == ["step 200", "in the child"])
    #expect(
      parent.snapshot.client.breadcrumbs.suffix(2).map(\.text) == ["step 200", "in the parent"])
  }

  @Test(arguments: [
    ("throwing", "Refusal()"), ("huge", "more than 16777216 bytes"), ("standard", "are taken"),
    ("good", "its number is already in use"),
  ])
  func aStreamThatCannotBeHadDoesNotLoseTheDump(_ stream: String, _ reason: String) async throws {
    let teller = try await Teller()
    try await teller.run("crash")
    let child = try await teller.process(stream)
    #expect(child.standardOutput.contains(": SIG"))
    let report = try teller.report(try teller.onlyStored())
    let failures = report.snapshot.client.userStreamFailures
    // The source was called twice; the first good stream is in the report.
    #expect(failures.count == (stream == "good" ? 1 : 2), "\(failures)")
    #expect(failures.allSatisfy { $0.contains("StreamSource: ") && $0.contains(reason) })
  }
}
