import CSignalSafe
import Postmortem
import ProcessSnapshot
import Testing

/// The table of open contexts, filled by this process and read like the table of a dump.
@Suite(.serialized)
@safe struct OpenContextTests {
  private static var table: [UInt8] {
    unsafe [UInt8](
      UnsafeRawBufferPointer(start: pm_open_contexts(), count: pm_open_contexts_used()))
  }

  /// The open contexts of this suite only, because other suites run in the same process at the same time.
  private static var contexts: [OpenContexts.Context] {
    (OpenContexts(table)?.contexts ?? []).filter { context in
      context.values.allSatisfy { $0.name.hasPrefix("own ") }
    }
  }

  /// The open contexts, without their ages.
  private static var open: [String] {
    contexts.map { context in
      let values = context.values.map {
        "\($0.name.dropFirst(4))=\($0.value)\($0.isCut ? "..." : "")"
      }
      return values.joined(separator: " ") + (context.isNested ? " inside" : "")
    }
  }

  @Test func whatIsOpenIsListed() throws {
    struct Failure: Error {}
    #expect(Self.open == [])
    let first = withContext("own route", "/export") {
      withContext(["own user": "17", "own tenant": "acme"]) {
        #expect(Self.open == ["route=/export", "user=17 tenant=acme inside"])
        #expect(Set(Self.contexts.map(\.work)).count == 1)
        let works = OpenContexts(Self.table)?.works ?? []
        #expect(works.contains { $0.values.map(\.value) == ["/export", "17", "acme"] })
      }
      #expect(Self.open == ["route=/export"])
      return Self.contexts.first
    }
    #expect(throws: Failure.self) {
      try withContext("own a", "1") { () throws(Failure) in throw Failure() }
    }
    #expect(Self.open == [])
    withContext([:]) { #expect(Self.open == []) }
    withContext("own b", "2") {
      let second = Self.contexts.first
      #expect(first != nil && first?.work != second?.work)
      #expect(first.map(\.uptime) ?? .max <= second.map(\.uptime) ?? 0)
    }
  }

  @Test func longValuesPushNoneOut() {
    let long = String(repeating: "\u{E9}", count: 200)
    withContext(["own id": "4711", "own statement": long, "own other": long, "own last": "x"]) {
      // Both are shortened to at least 16 bytes, the outer one first; the record had stored 32 bytes of `other`.
      let (statement, other) = (long.prefix(8), long.prefix(15))
      #expect(Self.open == ["id=4711 statement=\(statement)... other=\(other)... last=x"])
    }
    let names: KeyValuePairs<StaticString, String> = [
      "own 567890123456789012345678901234567890": "first", "own second": "second",
      "own 5678901234567890123456789012345678901234567890": "third",
    ]
    withContext(names) {
      let context = Self.contexts.first
      #expect(context?.omittedCount == 1 && context?.values.map(\.value) == ["second", "third"])
    }
  }

  @Test func aWaitingTaskHasItsContextOpen() async throws {
    let count = 600
    let (waiting, continuation) = AsyncStream.makeStream(of: CheckedContinuation<Void, Never>.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        group.addTask {
          try await withContext("own number", "\(number)") {
            await withCheckedContinuation { continuation.yield($0) }
            if number % 3 == 0 { throw CancellationError() }
            try await Task.sleep(for: .milliseconds(number % 3 == 1 ? 0 : 1_000_000))
          }
        }
      }
      var all: [CheckedContinuation<Void, Never>] = []
      for await one in waiting {
        all.append(one)
        if all.count == count { break }
      }
      let open = try #require(OpenContexts(Self.table))
      let found = Self.contexts.flatMap(\.values).compactMap { Int($0.value) }
      #expect((450...504).contains(found.count) && Set(found).count == found.count)
      #expect(open.count >= UInt64(count) && open.omittedCount >= 96)
      for one in all { one.resume() }
      for _ in 0..<count / 3 * 2 { _ = await group.nextResult() }
      group.cancelAll()
    }
    #expect(Self.open == [])
  }

  @Test func aContextCanBeTakenAlong() async {
    let (context, empty) = (
      withContext(["own id": "1", "own user": "2"]) { WorkContext.capture() }, WorkContext.capture()
    )
    await Task.detached {
      context.run {
        #expect(Self.open == ["id=1 user=2"])
        withContext("own id", "3") { #expect(Self.open == ["id=1 user=2", "id=3 inside"]) }
      }
      await context.run {
        await Task.yield()
        #expect(Self.open == ["id=1 user=2"])
      }
      empty.run { #expect(Self.open == []) }
      withContext("own other", "x") {
        empty.run { #expect(WorkContext.capture().run { Self.open } == ["other=x"]) }
        context.run { #expect(Self.open == ["other=x", "id=1 user=2"]) }
      }
    }.value
    #expect(Self.open == [])
  }

  @Test func entriesThatAreCopiedMeanwhileAreWholeOrLeftOut() async throws {
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<3 {
        group.addTask {
          var number = thread
          while !Task.isCancelled {
            withContext(["own a": "\(number)", "own b": "\(number &* 7919 % 100_003)"]) {
              withContext("own c", "\(number)") {}
            }
            number += 3
          }
        }
      }
      for _ in 0..<2_000 {
        let contexts = Self.contexts
        #expect(contexts.count <= 6)
        for context in contexts {
          let values = context.values.map { Int($0.value) ?? -1 }
          #expect(
            context.isNested
              ? values.count == 1
              : values.count == 2 && values[1] == values[0] &* 7919 % 100_003,
            "\(context)")
        }
      }
      group.cancelAll()
    }
    #expect(Self.open == [])
  }

  /// If bytes of the table change, the result contains only entries of the unchanged table.
  @Test func noEntryIsInvented() {
    var tables: [[UInt8]] = []
    withContext(["request-id": "8C2E5A54", "own route": "/export"]) {
      withContext("own user", "17") { tables.append(Self.table) }
    }
    let whole = tables[0]
    let known = OpenContexts(whole)?.contexts ?? []
    #expect(known.count >= 2)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        // Changes mostly the head and the first two rows.
        let end = min(Bool.random(using: &generator) ? 576 : 2_624, bytes.count)
        bytes[Int.random(in: 0..<end, using: &generator)] = generator.next()
      }
      bytes.removeLast(Int.random(in: 0...20, using: &generator) == 0 ? 900 : 0)
      guard let open = OpenContexts(bytes) else { continue }
      #expect(open.contexts.allSatisfy(known.contains) && open.incompleteCount <= 504)
    }
    #expect(OpenContexts([]) == nil)
    #expect(OpenContexts([UInt8](repeating: 0xFF, count: 70_000)) == nil)
  }

  /// No change of the highest byte of a word is undone by one of the highest byte of the checksum.
  @Test func aChangeOfAWordAndOfTheChecksumIsSeen() {
    var tables: [[UInt8]] = []
    withContext("own route", "/export/of/all/invoices") { tables.append(Self.table) }
    let whole = tables[0]
    let known = OpenContexts(whole)?.contexts ?? []
    #expect(!known.isEmpty)
    for entry in stride(from: 576, to: whole.count, by: 128) where whole[entry] != 0 {
      for word in 1..<16 {
        var bytes = whole
        bytes[entry + word * 8 + 7] ^= 1
        for seal in 0...255 as ClosedRange<UInt8> where seal != whole[entry + 7] {
          bytes[entry + 7] = seal
          let open = OpenContexts(bytes)?.contexts ?? []
          #expect(open.allSatisfy(known.contains), "word \(word)")
        }
      }
    }
  }
}
