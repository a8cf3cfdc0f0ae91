import CSignalSafe
import PostmortemHandler
import Testing

@testable import CrashHandler

/// Context values that are stored with tasks, and the breadcrumbs of units of work.
@Suite
@safe struct WorkTests {
  private static func context(_ value: UnsafeMutableRawPointer) -> [String] {
    let context = unsafe ContextValue(value)
    guard context.isValid else { return [] }
    var texts: [String] = []
    var offset = 0
    while let entry = context.entry(offset) {
      let name = unsafe String(
        decoding: UnsafeRawBufferPointer(start: entry.name.address, count: entry.name.count),
        as: UTF8.self)
      let value = unsafe String(
        decoding: UnsafeRawBufferPointer(start: entry.value.address, count: entry.value.count),
        as: UTF8.self)
      texts.append("\(name)=\(value)\(entry.isCut ? "..." : "")")
      offset = entry.next
    }
    return texts
  }

  /// The context values that apply here.
  private static var current: [String] { unsafe pm_work_value().map { unsafe context($0) } ?? [] }

  @Test func contextsNest() async throws {
    #expect(Self.current == [])
    withContext("a", "1") {
      #expect(Self.current == ["a=1"])
      withContext("b", "2") { #expect(Self.current == ["a=1", "b=2"]) }
      #expect(Self.current == ["a=1"])
    }
    #expect(Self.current == [])
    let task = await withContext("a", "outer") {
      await Task.yield()
      async let child = Self.current
      #expect(await child == ["a=outer"])
      return Task {
        for _ in 0..<3 { await Task.yield() }
        return Self.current
      }
    }
    #expect(Self.current == [])
    #expect(await task.value == ["a=outer"])
    #expect(await Task.detached { Self.current }.value == [])
  }

  @Test func errorsPass() async {
    struct Failure: Error {}
    #expect(throws: Failure.self) {
      try withContext("a", "1") { () throws(Failure) in throw Failure() }
    }
    await #expect(throws: Failure.self) {
      try await withContext("a", "1") { () async throws(Failure) in
        await Task.yield()
        throw Failure()
      }
    }
    #expect(Self.current == [])
  }

  @Test func whatFindsNoRoomIsCutOrCounted() {
    let long = String(repeating: "\u{E9}", count: 120)
    withContext("id", long) {
      // 232 bytes, minus 2 and the name, are 228: 114 characters of two bytes.
      #expect(Self.current == ["id=\(String(repeating: "\u{E9}", count: 114))..."])
      withContext("next", "1") {
        // The long value is shortened by 7 bytes, and by one more because of its last character.
        #expect(Self.current == ["id=\(String(repeating: "\u{E9}", count: 110))...", "next=1"])
        let omitted = unsafe pm_work_value().map { unsafe ContextValue($0).omittedCount }
        #expect(omitted == 0)
      }
      let name: StaticString =
        "a name of more than 64 bytes, which are too many for a name of a value"
      withContext(name, "1") {
        #expect(Self.current.count == 1)
        let omitted = unsafe pm_work_value().map { unsafe ContextValue($0).omittedCount }
        #expect(omitted == 1)
      }
    }
  }

  @Test func severalValuesAtOnceAreLikeNestedOnes() {
    withContext("a", "outer") {
      withContext(["b": "1", "a": "2", "c": "3", "b": "4"]) {
        #expect(Self.current == ["a=2", "c=3", "b=4"])
      }
      withContext([:]) { #expect(Self.current == ["a=outer"]) }
    }
    let long = String(repeating: "x", count: 300)
    withContext(["a": long, "b": long, "c": long, "d": "1"]) {
      let values = Self.current.map { $0.split(separator: "=")[1].replacing("...", with: "") }
      #expect(values.count == 4 && values[3] == "1")
      #expect(values.allSatisfy { long.hasPrefix($0) || $0 == "1" })
      #expect(values.dropLast().allSatisfy { $0.count >= 32 })
      // The whole space is used.
      #expect(values.map(\.count).reduce(0, +) == 232 - 4 * 3)
    }
    #expect(Self.current == [])
  }

  @Test func aTakenContextIsTheOneOfItsPlace() async {
    let context = withContext(["a": "1", "b": "2"]) { WorkContext.capture() }
    let thread = TestThread {
      #expect(context.run { Self.current } == ["a=1", "b=2"])
      #expect(Self.current == [])
    }
    thread.join()
    await withContext("c", "3") {
      await context.run {
        await Task.yield()
        #expect(Self.current == ["a=1", "b=2"])
        let inner = withContext("a", "4") { WorkContext.capture() }
        #expect(inner.run { Self.current } == ["b=2", "a=4"])
      }
      #expect(Self.current == ["c=3"])
    }
    let empty = WorkContext.capture()
    withContext("c", "3") { #expect(empty.run { Self.current } == []) }
  }

  /// The innermost value is kept, whole or shortened, whatever the outer ones are.
  @Test func ofOneNameTheInnermostIsKept() {
    func nest(_ level: Int, of levels: Int) {
      guard level < levels else { return }
      let value = "\(level) of the nested spans of a request".padding(to: 36)
      withContext("request-span", value) {
        #expect(Self.current == ["id=4711", "request-span=\(value)"], "level \(level)")
        nest(level + 1, of: levels)
      }
    }
    withContext("id", "4711") { nest(0, of: 1_000) }
  }

  @Test func theInnermostComesBeforeTheOutermost() {
    func nest(_ names: ArraySlice<StaticString>) {
      guard let name = names.first else { return }
      withContext(name, String(repeating: "x", count: 60)) {
        let innermost = Self.current.last
        let value = innermost?.split(separator: "=").last.map(String.init) ?? ""
        #expect(innermost?.hasPrefix("\(name)=x") == true)
        // The value is shortened if it does not fit; space is made for at least its beginning.
        #expect(value.count == 60 || value.hasSuffix("...") && value.count >= 35)
        nest(names.dropFirst())
      }
    }
    nest(["a", "b", "c", "d", "e", "f", "g", "h"][...])
  }

  @Test func whatWasWrittenOverIsNoValue() throws {
    try withContext("request-id", "4711") {
      let value = unsafe try #require(pm_work_value())
      for offset in 0..<34 {
        let byte = unsafe value.load(fromByteOffset: offset, as: UInt8.self)
        for bit in 0..<8 {
          unsafe value.storeBytes(of: byte ^ 1 << bit, toByteOffset: offset, as: UInt8.self)
          #expect(unsafe Self.context(value) == [], "bit \(bit) of byte \(offset)")
        }
        unsafe value.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
      }
      #expect(Self.current == ["request-id=4711"])
    }
  }

  @Test func theRuntimeKeepsValuesWhereTheyAreLookedFor() async {
    withContext("a", "1") {}
    let thread = TestThread { withContext("a", "1") {} }
    thread.join()
    let places = pm_work_places()
    #expect(places.task_head > 1 && places.task_head & 7 == 0)
    #expect(places.thread_head != 0 && places.thread_head & 7 == 0)
  }

  // MARK: - Breadcrumbs

  @safe private final class Rings: @unchecked Sendable {
    private let base: UnsafeMutableRawPointer
    let rings: WorkRings
    init() {
      unsafe base = .allocate(byteCount: Int(PM_RING_MEMORY_SIZE), alignment: 4096)
      unsafe base.initializeMemory(as: UInt8.self, repeating: 0, count: Int(PM_RING_MEMORY_SIZE))
      rings = unsafe WorkRings(base)
    }
    deinit { unsafe base.deallocate() }

    func leave(_ text: String, _ work: UInt64, at uptime: UInt64) {
      let bytes = Array(text.utf8)
      unsafe bytes.withUnsafeBytes { buffer in
        rings.ring(of: work, uptime: uptime)?.leave(
          unsafe BreadcrumbContent(text: buffer), work: work, uptime: uptime, threadID: 1)
      }
    }

    func texts(_ work: UInt64) -> [String] {
      var place = [UInt8](repeating: 0, count: BreadcrumbRing.stride)
      var (next, texts) = (0, [String]())
      while true {
        let count = unsafe rings.read(work, next: &next, into: &place)
        guard count >= 0 else { return texts }
        let text = place.dropFirst(BreadcrumbRing.textOffset).prefix(count)
        texts.append(String(decoding: text, as: UTF8.self))
      }
    }
  }

  @Test func aWorkKeepsItsLast16() {
    let rings = Rings()
    for number in 0..<40 { rings.leave("\(number)", WorkKey.context(1), at: UInt64(number + 1)) }
    #expect(rings.texts(WorkKey.context(1)) == (24..<40).map { "\($0)" })
    #expect(rings.texts(WorkKey.task(1)) == [] && rings.texts(WorkKey.thread(1)) == [])
  }

  @Test func otherWorksThatEndDoNotWashItAway() {
    let rings = Rings()
    let slow = WorkKey.context(1)
    rings.leave("slow", slow, at: 1)
    for number in 2..<100_000 as Range<UInt64> {
      let work = WorkKey.context(number)
      rings.leave("\(number)", work, at: number)
      rings.rings.retire(work)
    }
    #expect(rings.texts(slow) == ["slow"])
    // Units of work that never end replace the one that was used the longest ago.
    for number in 200_000..<220_000 as Range<UInt64> {
      rings.leave("\(number)", WorkKey.task(number), at: number)
    }
    #expect(rings.texts(slow) == [])
  }

  @Test func threadsThatShareWorksMixNothing() {
    let rings = Rings()
    let threads = (0..<4).map { thread in
      TestThread {
        for number in 0..<20_000 {
          let work = WorkKey.context(UInt64((number * 7 + thread) % 2000 + 1))
          rings.leave("\(work)", work, at: UInt64(number + 1))
        }
      }
    }
    for thread in threads { thread.join() }
    for number in 1...2000 as ClosedRange<UInt64> {
      let work = WorkKey.context(number)
      #expect(rings.texts(work).allSatisfy { $0 == "\(work)" })
    }
  }
}

extension String {
  fileprivate func padding(to count: Int) -> String {
    String((self + String(repeating: ".", count: count)).prefix(count))
  }
}
