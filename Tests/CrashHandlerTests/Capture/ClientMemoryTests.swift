import Glibc
import IntermediateDump
import Synchronization
import Testing

@testable import CrashHandler

@Suite struct ClientMemoryTests {
  private static let size = 1 << 20

  private func entries(_ table: CellTable) -> [String: String] {
    var found: [String: String] = [:]
    for index in 0..<table.count {
      guard let (bytes, reading) = table.cell(index).value() else { continue }
      let key = String(decoding: bytes.prefix(reading.keyCount), as: UTF8.self)
      #expect(found[key] == nil, "\(key) twice")
      found[key] = String(decoding: bytes.dropFirst(reading.keyCount), as: UTF8.self)
    }
    return found
  }

  @discardableResult
  private func set(_ table: CellTable, _ key: String, _ value: String) -> Bool {
    let (key, value) = (Array(key.utf8), Array(value.utf8))
    return unsafe table.set(
      key: key, keyCount: key.count, value: value, valueCount: value.count)
  }

  private func remove(_ table: CellTable, _ key: String) {
    let key = Array(key.utf8)
    unsafe table.remove(key: key, keyCount: key.count)
  }

  @Test func aTableHoldsSoManyKeys() {
    let block = ClientBlock(Self.size)
    let table = block.table(count: 3)
    #expect(set(table, "a", "1") && set(table, "b", "2") && set(table, "c", "3"))
    #expect(!set(table, "d", "4") && table.omittedCount == 1)
    #expect(set(table, "b", "22"))
    remove(table, "a")
    remove(table, "unknown")
    #expect(set(table, "d", "44"))
    #expect(entries(table) == ["b": "22", "c": "3", "d": "44"])
    #expect(!set(table, String(repeating: "k", count: 60), "and value"), "too long")
    #expect(entries(table).count == 3)
  }

  @Test func aKeyThatTwoThreadsMadeIsOneAgain() {
    let block = ClientBlock(Self.size)
    let table = block.table(count: 4)
    // The state that a race leaves.
    for index in [1, 3] {
      let state = table.cell(index).state
      _ = unsafe table.cell(index).set(
        key: Array("k".utf8), keyCount: 1, value: Array("\(index)".utf8), valueCount: 1,
        replacing: state.version)
    }
    set(table, "k", "new")
    #expect(entries(table) == ["k": "new"])
  }

  @Test func manyThreadsSetAndRemove() {
    let block = ClientBlock(Self.size)
    let threads = (0..<4).map { thread in
      TestThread {
        let table = block.table(count: 8)
        for number in 0..<2_000 {
          let key = Array("key \(number % 6)".utf8)
          let value = Array("\(number % 6)/\(thread)/\(number)/\(number)".utf8)
          _ = unsafe table.set(
            key: key, keyCount: key.count, value: value, valueCount: value.count)
          if number % 5 == 0 { unsafe table.remove(key: key, keyCount: key.count) }
        }
      }
    }
    let table = block.table(count: 8)
    var wrong = 0
    for _ in 0..<1_000 {
      for index in 0..<table.count {
        guard let (bytes, reading) = table.cell(index).value(), reading.isReadable else {
          continue
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.dropFirst(reading.keyCount).split(separator: "/")
        let key = String(text.prefix(reading.keyCount))
        if parts.count != 4 || parts[2] != parts[3] || key != "key \(parts[0])" { wrong += 1 }
      }
    }
    for thread in threads { thread.join() }
    #expect(wrong == 0)
    // In any state that a race leaves, setting a key leaves one entry for it.
    for number in 0..<6 { set(table, "key \(number)", "end") }
    #expect(entries(table).count == 6)
    #expect((0..<8).allSatisfy { !table.cell($0).state.isBeingWritten })
  }

  private func leave(_ ring: BreadcrumbRing, _ text: String) {
    let bytes = Array(text.utf8)
    unsafe bytes.withUnsafeBytes { buffer in
      ring.leave(unsafe BreadcrumbContent(text: buffer), work: 1, uptime: 2, threadID: 3)
    }
  }

  private func text(_ ring: BreadcrumbRing, _ number: UInt64) -> String? {
    var place = [UInt8](repeating: 0, count: BreadcrumbRing.stride)
    let count = unsafe ring.read(number, into: &place)
    guard count >= 0 else { return nil }
    return String(decoding: place.dropFirst(BreadcrumbRing.textOffset).prefix(count), as: UTF8.self)
  }

  @Test func theRingKeepsTheLast128() {
    let block = ClientBlock(Self.size)
    let ring = block.memory.breadcrumbs
    #expect(text(ring, 0) == nil)
    for number in 0..<300 { leave(ring, "crumb \(number)") }
    leave(ring, String(repeating: "x", count: 500))
    #expect(ring.leftCount == 301)
    #expect(text(ring, 172) == nil && text(ring, 173) == "crumb 173")
    #expect(text(ring, 299) == "crumb 299")
    #expect(text(ring, 300) == String(repeating: "x", count: 224))
    #expect(text(ring, 301) == nil)
  }

  @Test func aBreadcrumbInTheMiddleIsLeftOut() throws {
    let block = ClientBlock(Self.size)
    let ring = block.memory.breadcrumbs
    leave(ring, "before")
    // A thread takes its slot, writes half of it, and is stopped.
    let stopped = try #require(ring.take())
    unsafe ring.slot(stopped).storeBytes(of: 0x4141_4141, toByteOffset: 32, as: UInt32.self)
    leave(ring, "after")
    #expect((text(ring, 0), text(ring, 1), text(ring, 2)) == ("before", nil, "after"))
    // The thread never continues: after 128 more breadcrumbs, its slot is skipped.
    for number in 3..<200 { leave(ring, "\(number)") }
    #expect(text(ring, 1) == nil && text(ring, 129) == nil)
    #expect(text(ring, 128) == "128" && text(ring, 130) == "130")
  }

  @Test func manyThreadsLeaveBreadcrumbs() {
    let block = ClientBlock(Self.size)
    let threads = (0..<4).map { thread in
      TestThread {
        for number in 0..<5_000 {
          let text = Array(
            "\(thread)-\(number)-\(String(repeating: "\(number % 10)", count: number % 200))".utf8)
          unsafe text.withUnsafeBytes { buffer in
            block.memory.breadcrumbs.leave(
              unsafe BreadcrumbContent(text: buffer), work: 0, uptime: 0, threadID: 0)
          }
        }
      }
    }
    let ring = block.memory.breadcrumbs
    var wrong = 0
    for _ in 0..<200 {
      let end = ring.leftCount
      for number in (end > 128 ? end - 128 : 0)..<end {
        guard let text = text(ring, number) else { continue }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let value = Int(parts[1]), parts[2].count == value % 200,
          parts[2].allSatisfy({ String($0) == "\(value % 10)" })
        else {
          wrong += 1
          continue
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(wrong == 0)
    #expect(ring.leftCount == 20_000)
  }

  private func offset(_ list: AnnotationList, _ name: String, type: UInt32 = 1, _ capacity: Int)
    -> UInt32
  {
    let bytes = Array(name.utf8)
    return unsafe list.offset(
      name: bytes, nameCount: bytes.count, type: type, capacity: capacity)
  }

  private func names(_ list: AnnotationList) -> [String] {
    var names: [String] = []
    var next = list.first
    while names.count <= AnnotationList.maximumCount, let node = list.node(next) {
      names.append(
        unsafe String(
          decoding: UnsafeRawBufferPointer(start: node.name, count: node.nameCount),
          as: UTF8.self))
      next = node.next
    }
    return names
  }

  @Test func theListGrowsUntilItIsFull() throws {
    let block = ClientBlock(Self.size)
    let list = block.memory.annotations
    let first = offset(list, "first", 10)
    #expect(first != 0 && offset(list, "first", 10) == first)
    #expect(offset(list, "first", 11) != first && offset(list, "first", type: 2, 10) != first)
    try #require(list.node(first)).text.set([1, 2, 3])
    // Adds large annotations until the memory is used up, then small ones until their number is.
    var large = 0
    while offset(list, "large \(large)", AnnotationList.maximumCapacity) != 0 { large += 1 }
    #expect(large == 9 && list.omittedCount == 1)
    var small = 0
    while offset(list, "small \(small)", 8) != 0 { small += 1 }
    #expect(large + small + 3 <= 400 && small > 300)
    #expect(names(list).count == large + small + 3)
    #expect(Set(names(list)).count == large + small + 1)
    #expect(offset(list, "first", 10) == first && list.omittedCount == 2)
    #expect(list.node(first)?.text.value()?.bytes == [1, 2, 3])
    #expect(offset(list, String(repeating: "n", count: 256), 8) == 0)
  }

  /// The value of a number annotation as the capture reads it; nil if there is none.
  private func number(_ list: AnnotationList, _ offset: UInt32) -> UInt64? {
    var place: UInt64 = 0
    guard let reading = list.node(offset).flatMap({ unsafe $0.read(into: &place) }),
      reading.isReadable
    else { return nil }
    #expect(reading.count == 8 && reading.keyCount == 0 && reading.state == nil)
    return UInt64(littleEndian: place)
  }

  @Test func aNumberIsSetAndCleared() throws {
    let block = ClientBlock(Self.size)
    let list = block.memory.annotations
    let places = (0..<3).map { offset(list, String(repeating: "n", count: $0 + 7), type: 2, 8) }
    #expect(!places.contains(0) && number(list, places[0]) == nil)
    let cells = try places.map { try #require(list.number(list.numberOffset($0))) }
    for (index, cell) in cells.enumerated() { cell.set(.max - UInt64(index)) }
    #expect(places.map { number(list, $0) } == [.max, .max - 1, .max - 2])
    cells[1].clear()
    #expect(places.map { number(list, $0) } == [.max, nil, .max - 2])
    // The values 0, and the only number whose stored word is 0.
    for value in [0, NumberCell.mark, 1] {
      cells[1].set(value)
      #expect(number(list, places[1]) == value)
      cells[1].clear()
      #expect(number(list, places[1]) == nil)
    }
    cells[1].set(0)
    #expect(number(list, places[1]) == 0)
    // Names and nodes are unchanged; a number without room has no cell.
    #expect(names(list).map(\.count) == [9, 8, 7])
    #expect(list.numberOffset(0) == 0 && list.number(0) == nil)
    #expect(list.number(.max) == nil)
  }

  @Test func manyThreadsSetOneNumber() throws {
    let block = ClientBlock(Self.size)
    let list = block.memory.annotations
    let place = offset(list, "number", type: 3, 8)
    // Both halves of each number are equal, so a torn number would show.
    let threads = (1...4).map { thread in
      TestThread {
        let list = block.memory.annotations
        guard let cell = list.number(list.numberOffset(place)) else { return }
        for value in 0..<20_000 {
          let half = UInt64(thread * 100_000 + value)
          cell.set(half << 32 | half)
          if value % 50 == 0 { cell.clear() }
        }
        cell.set(1 << 32 | 1)
      }
    }
    var wrong = 0
    for _ in 0..<20_000 {
      if let value = number(list, place), value >> 32 != value & 0xFFFF_FFFF { wrong += 1 }
    }
    for thread in threads { thread.join() }
    #expect(wrong == 0 && number(list, place) == 1 << 32 | 1)
  }

  @Test func threadsThatMakeTheSameAnnotationsShareThem() {
    let block = ClientBlock(Self.size)
    let threads = (0..<4).map { _ in
      TestThread {
        (0..<100).map { number -> UInt32 in
          let name = Array("annotation \(number)".utf8)
          return unsafe block.memory.annotations.offset(
            name: name, nameCount: name.count, type: 1, capacity: 16)
        }
      }
    }
    let offsets = threads.map { $0.join() }
    #expect(Set(offsets).count == 1)
    #expect(
      names(block.memory.annotations).sorted() == (0..<100).map { "annotation \($0)" }.sorted())
  }

  /// The program may overwrite the memory: reading terminates, and stays inside the memory.
  @Test func anyBytesAreRead() {
    var generator = SystemRandomNumberGenerator()
    for round in 0..<20 {
      let block = ClientBlock(Self.size)
      let memory = block.memory
      _ = offset(memory.annotations, "name", 64)
      for _ in 0..<2000 {
        let place = Int(generator.next() % UInt64(Self.size / 8)) * 8
        let value = round % 2 == 0 ? generator.next() : generator.next() % 0x10000
        unsafe block.base.storeBytes(of: value, toByteOffset: place, as: UInt64.self)
      }
      // The words that lead to all other data.
      for place in 0..<12 {
        unsafe block.base.storeBytes(
          of: UInt32(truncatingIfNeeded: generator.next() % UInt64(Self.size)),
          toByteOffset: place * 4, as: UInt32.self)
      }
      for table in [memory.simpleAnnotations, memory.memoryRanges, memory.attachments] {
        for index in 0..<table.count { _ = table.cell(index).value() }
      }
      _ = names(memory.annotations)
      let end = memory.breadcrumbs.leftCount
      for number in (end > 128 ? end - 128 : 0)..<end { _ = text(memory.breadcrumbs, number) }
    }
  }

  @Test func textIsCutBetweenCharacters() {
    func cut(_ text: String, _ limit: Int) -> String {
      var result: [UInt8] = []
      unsafe ClientText.withBytes(of: text, atMost: limit) { bytes, count in
        result = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
      }
      return String(decoding: result, as: UTF8.self)
    }
    #expect(cut("plain", 9) == "plain" && cut("plain", 3) == "pla" && cut("", 3) == "")
    #expect(cut("a\u{E9}\u{1F600}", 6) == "a\u{E9}" && cut("a\u{E9}\u{1F600}", 7).count == 3)
    #expect(cut("\u{1F600}", 3) == "" && cut("x", 0) == "")
  }
}
