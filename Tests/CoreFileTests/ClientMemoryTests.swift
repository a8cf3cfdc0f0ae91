import CSignalSafe
import IntermediateDump
import PostmortemHandler
import ProcessSnapshot
import Testing

@testable import CoreFile

/// The handler's client memory (annotations, breadcrumbs and contexts), filled by this process and read like the
/// memory of a core file.
@Suite(.serialized)
@safe struct ClientMemoryTests {
  private static let places = (client: Address(0x10_0000), rings: Address(0x40_0000))

  /// A copy of this process's memory, at other addresses.
  private static var memory: MemorySnapshot {
    func region(_ address: Address, _ base: UnsafeMutableRawPointer, _ count: Int) -> MemoryRegion {
      unsafe MemoryRegion(
        address: address, bytes: Array(UnsafeRawBufferPointer(start: base, count: count)))
    }
    return unsafe MemorySnapshot(joining: [
      region(places.client, pm_client_memory(), Int(PM_CLIENT_MEMORY_SIZE)),
      region(places.rings, pm_ring_memory(), Int(PM_RING_MEMORY_SIZE)),
    ])
  }

  private static var client: ClientInformation {
    var client = ClientInformation()
    ClientMemoryReader(memory: memory, base: places.client).add(to: &client)
    return client
  }

  @Test func annotationsAreThoseThatWereSet() {
    Annotation<String>("text", capacity: 40).set("one")
    Annotation<String>("text", capacity: 40).set("two \u{1F600}")
    Annotation<Int>("signed").set(-17)
    Annotation<UInt>("unsigned").set(.max)
    Annotation<Double>("double").set(0.25)
    Annotation<Bool>("no").set(false)
    let cleared = Annotation<String>("cleared")
    cleared.set("x")
    cleared.clear()
    SimpleAnnotations.set("tenant", "acme")
    SimpleAnnotations.set("removed", "x")
    SimpleAnnotations.remove("removed")
    let client = Self.client
    let found = Dictionary(
      client.annotations.map { ($0.name ?? "", $0.value) }, uniquingKeysWith: { first, _ in first })
    #expect(
      found == [
        "text": .text("two \u{1F600}"), "signed": .signed(-17), "unsigned": .unsigned(.max),
        "double": .double(0.25.bitPattern), "no": .bool(false),
      ])
    #expect(
      client.simpleAnnotations == [ClientAnnotation(name: "tenant", value: .text("acme"))])
    #expect(client.annotationsOmitted == nil && client.simpleAnnotationsOmitted == nil)
  }

  @Test func breadcrumbsAreTheLast128AndThoseOfTheWork() async {
    // Each task is a unit of work.
    await Task.detached {
      for number in 0..<200 { leaveBreadcrumb("step \(number)") }
      leaveBreadcrumb("last", level: .warning, metadata: [("name", "value")])
      let client = Self.client
      #expect(client.breadcrumbsLeft ?? 0 >= 201 && client.breadcrumbs.count == 128)
      let last = client.breadcrumbs.last
      #expect(last?.text == "last" && last?.level == .warning)
      #expect(last?.metadata.pairs == [.init(name: "name", value: "value")])
      #expect(last?.threadID == UInt32(bitPattern: pm_thread_id()) && last?.uptime ?? 0 > 0)
      #expect(client.breadcrumbs.dropLast().last?.text == "step 199")
      let rings = WorkRingReader(memory: Self.memory, base: Self.places.rings)
      let work = rings.breadcrumbs(of: 1 << 63 | pm_task_id())
      #expect(work.count == 16 && work.map(\.text).contains("last"))
      #expect(rings.breadcrumbs(of: 1 << 63 | 1 << 40).isEmpty)
    }.value
  }

  /// For any contents of the memory, reading terminates, and returns no more entries than the memory has room
  /// for.
  @Test func anyMemoryIsRead() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      let bytes = (0..<1 << 18).flatMap { _ -> [UInt8] in
        let word = generator.next()
        // Many small numbers make offsets and counts often valid.
        return (0..<4).map { UInt8(truncatingIfNeeded: word >> ($0 * (word & 1 == 0 ? 8 : 3))) }
      }
      let memory = MemorySnapshot(joining: [MemoryRegion(address: 0x10_0000, bytes: bytes)])
      var client = ClientInformation()
      ClientMemoryReader(memory: memory, base: 0x10_0000).add(to: &client)
      #expect(client.simpleAnnotations.count <= 64 && client.annotations.count <= 400)
      #expect(client.breadcrumbs.count <= 128)
      _ = WorkRingReader(memory: memory, base: 0x10_0000).breadcrumbs(of: generator.next())
    }
  }
}
