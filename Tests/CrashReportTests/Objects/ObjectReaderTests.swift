import Foundation
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

private class Plain { var number = 7 }
private final class Heir: Plain { var more = "more" }
class PublicPlain {}
private final class Box<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
}
private struct Outer<First> {
  final class Inner<Second> {
    var pair: (First?, Second?)? = nil
    struct Deep {}
  }
  enum Choice { case left(First), right }
}
private class GenericBase<Element> { var element: Element? }
private final class ConcreteHeir: GenericBase<String> {}
private final class GenericHeir<Other>: GenericBase<Int> { var other: Other? }
private protocol Marked {}
private struct Failure: Error { var code = 3 }
private enum Refusal: Error { case notToday(String) }
private struct GenericFailure<Value: Sendable>: Error { var value: Value }

/// Compares the names of this process's objects with the runtime's names of their types.
@Suite struct ObjectReaderTests {
  /// The runtime's name without the placeholder for a type that only its file knows.
  private func name(of type: Any.Type) -> String {
    _typeName(type, qualified: true).replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
  }

  private func expectName(_ object: AnyObject, line: Int = #line) {
    let found = OwnProcess.reader().object(at: OwnProcess.address(of: object))
    #expect(found?.type?.qualified == name(of: type(of: object)), "line \(line)")
    #expect(found?.kind == .object)
  }

  @Test func classesNestedAndGenericHaveTheRuntimesNames() {
    final class Local {}
    expectName(Plain())
    expectName(Heir())
    expectName(PublicPlain())
    expectName(Local())
    expectName(Box(1))
    expectName(Box("text"))
    expectName(Box([1: "one"]))
    expectName(Box((1, "two", Double?.none)))
    expectName(Box<[Set<Int>?]>([]))
    expectName(Box(Box(Plain())))
    expectName(Box<(any Marked & Sendable)?>(nil))
    expectName(Box<((Int, Plain) -> String)?>(nil))
    expectName(Box<any Error>(Failure()))
    expectName(Box<Any>(1))
    expectName(Box<AnyObject>(Plain()))
    expectName(Box(Int.self))
    expectName(Outer<Int>.Inner<String>())
    expectName(Outer<[Plain]>.Inner<Outer<Int>.Choice>())
    expectName(Box<Outer<Int>.Inner<UInt8>.Deep?>(nil))
    expectName(GenericBase<Int>())
    expectName(ConcreteHeir())
    expectName(GenericHeir<Double>())
    expectName(NSMutableArray())
    expectName(JSONEncoder())
  }

  @Test func theShortNameHasNoModules() {
    let box = Box([1: "one"])
    let found = OwnProcess.reader().object(at: OwnProcess.address(of: box))
    #expect(found?.type?.short == "Box<Dictionary<Int, String>>")
    #expect(found?.words == "looks like Box<Dictionary<Int, String>> (strong 1)")
    withExtendedLifetime(box) {}
  }

  @Test func errorsAreNamedByWhatIsInTheirBox() {
    func expect(_ error: any Error, _ type: Any.Type) {
      let word = unsafe unsafeBitCast(error as any Error, to: UInt64.self)
      let found = OwnProcess.reader().object(at: Address(word))
      #expect(found?.kind == .error)
      #expect(found?.type?.qualified == name(of: type))
      withExtendedLifetime(error) {}
    }
    expect(Failure(), Failure.self)
    expect(Refusal.notToday(""), Refusal.self)
    expect(GenericFailure(value: 1), GenericFailure<Int>.self)
  }

  /// Keeps a closure's context unchanged: a generic function would get the closure in another context.
  private struct Holder { let body: () -> Int }

  @Test func contextsOfClosuresAreTold() {
    var count = 1
    let values = [Plain(), Plain()]
    let closure: () -> Int = {
      count += 1
      return values.count + count
    }
    // A function value consists of its code and its context.
    let holder = Holder(body: closure)
    let words = unsafe unsafeBitCast(holder, to: (UInt64, UInt64).self)
    _ = holder.body()
    let found = OwnProcess.reader().object(at: Address(words.1))
    #expect(found?.kind == .closure)
    #expect(found?.captures.map(\.short) == ["Int", "Array<Plain>"])
    withExtendedLifetime(holder) {}
  }

  @Test func functionsThatClosuresCaptureHaveNoConventionsOfTheCompilers() {
    let values = [Plain()]
    let inner: @Sendable (Int) -> Int = { $0 + 1 }
    let holder = Holder { inner(values.count) }
    let words = unsafe unsafeBitCast(holder, to: (UInt64, UInt64).self)
    let found = OwnProcess.reader().object(at: Address(words.1))
    #expect(found?.captures.map(\.short).contains("@Sendable (Int) -> (Int)") == true)
    withExtendedLifetime(holder) {}
  }

  @Test func referencesAreCounted() {
    let object = Plain()
    let address = OwnProcess.address(of: object)
    func count() -> ReferenceCount? { OwnProcess.reader().object(at: address)?.count }
    #expect(count()?.strong == 1)
    let more = unsafe Unmanaged.passRetained(object)
    #expect(count()?.strong == 2)
    #expect(count()?.text == "strong 2")
    unowned let reference = object
    #expect(count()?.unowned ?? 0 >= 1)
    _ = reference.number
    weak let weakReference = object
    #expect(count()?.hasSideTable == true)
    #expect(count()?.strong == 2)
    _ = weakReference?.number
    unsafe more.release()
    #expect(count()?.strong == 1)
    withExtendedLifetime(object) {}
  }

  @Test func countsInASideTableThatCannotBeReadAreUnknown() throws {
    let word: UInt64 = 0b11 << 62 | 0x1_0000_0000
    let unread = try #require(ReferenceCount(word) { _ in nil })
    #expect(unread.state == .alive && unread.hasSideTable && !unread.isCounted)
    let read = try #require(ReferenceCount(word) { _ in 0b11 })
    #expect(read.hasSideTable && read.isCounted && read.strong == 1)
  }

  /// The words of a structure of C, which begins with the metadata of a class.
  private func structure(_ metadata: UInt64, _ second: UInt64, stacks: Bool = false) -> SwiftObject?
  {
    let words = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
    defer { unsafe words.deallocate() }
    unsafe words[0] = metadata
    unsafe words[1] = second
    let address = Address(UInt64(UInt(bitPattern: words)))
    let reader = ObjectReader(
      ProcessReader(memory: OwnProcess.bytes, constants: OwnProcess.bytes), showsContents: true,
      stacks: stacks ? [AddressRange(start: address, byteCount: 16)] : [])
    return reader.object(at: address)
  }

  private func metadata(of object: AnyObject) throws -> UInt64 {
    let bytes = OwnProcess.bytes(at: OwnProcess.address(of: object), count: 8)
    return try #require(bytes?.littleEndian(at: 0, width: 8))
  }

  @Test func aStructureOfCWithAClassesMetadataIsNoCertainObject() throws {
    let (heir, plain) = (Heir(), Plain())
    for object in [heir, plain] {
      let found = try #require(structure(metadata(of: object), 3))
      #expect(!found.isCertain)
      #expect(found.words.hasPrefix("looks like "))
    }
    // The size of the memory proves nothing: the structure can have the size of the class.
    #expect(OwnProcess.reader().object(at: OwnProcess.address(of: heir))?.isCertain == false)
    #expect(OwnProcess.reader().object(at: OwnProcess.address(of: plain))?.isCertain == false)
    // Two references are no number of C.
    #expect(try structure(metadata(of: plain), 3 | 1 << 33)?.isCertain == true)
    withExtendedLifetime((heir, plain)) {}
  }

  @Test func anObjectOnTheStackHasNoUnownedReferenceOfItsOwn() throws {
    let plain = Plain()
    let metadata = try metadata(of: plain)
    #expect(structure(metadata, 5, stacks: true)?.count.text == "strong 1")
    #expect(structure(metadata, 7, stacks: true)?.count.text == "strong 1, unowned 1")
    #expect(structure(metadata, 5)?.count.text == "strong 1, unowned 1")
    withExtendedLifetime(plain) {}
  }

  @Test func emptyStoragesAndVariablesOfUnknownTypesAreNoise() throws {
    for word in [
      unsafe unsafeBitCast([Int](), to: UInt64.self),
      unsafe unsafeBitCast([Int: Int](), to: UInt64.self),
      unsafe unsafeBitCast(Set<Int>(), to: UInt64.self),
    ] {
      #expect(try #require(OwnProcess.reader().object(at: Address(word))).isNoise)
    }
    let numbers = (0..<3).map { $0 }
    let word = unsafe unsafeBitCast(numbers, to: UInt64.self)
    #expect(OwnProcess.reader().object(at: Address(word))?.isNoise == false)
    var closure = SwiftObject(kind: .closure, count: try #require(ReferenceCount(3) { _ in nil }))
    #expect(!closure.isNoise)
    closure.captures = [.unknown, .unknown]
    #expect(closure.isNoise)
    closure.captures.append(TypeName("Int"))
    #expect(!closure.isNoise)
    withExtendedLifetime(numbers) {}
  }

  private final class Dying {
    nonisolated(unsafe) static var seen: SwiftObject?
    deinit { unsafe Self.seen = OwnProcess.reader().object(at: OwnProcess.address(of: self)) }
  }

  @Test func anObjectInItsDeinitializerIsTold() {
    do { _ = Dying() }
    #expect(unsafe Dying.seen?.count.state == .deinitializing)
    #expect(unsafe Dying.seen?.type?.short.hasSuffix("Dying") == true)
    #expect(unsafe Dying.seen?.count.text == "being deinitialized")
  }

  @Test func storagesOfCollectionsAndStringsSayHowMuchTheyHold() {
    let numbers = (0..<17).map { $0 * 2 }
    let array = unsafe unsafeBitCast(numbers, to: UInt64.self)
    let storage = OwnProcess.reader().object(at: Address(array))
    #expect(storage?.type?.short == "_ContiguousArrayStorage<Int>")
    #expect(storage?.size == 17)
    let text = String(repeating: "basket ", count: 5) + "\(numbers.count)"
    let words = unsafe unsafeBitCast(text, to: (UInt64, UInt64).self)
    let string = OwnProcess.reader().object(at: Address(words.1 & 0x0FFF_FFFF_FFFF_FFFF))
    #expect(string?.size == 37)
    #expect(string?.text == text)
    let named = Dictionary(uniqueKeysWithValues: numbers.map { ($0, "\($0)") })
    let dictionary = OwnProcess.reader().object(
      at: Address(unsafe unsafeBitCast(named, to: UInt64.self)))
    #expect(dictionary?.size == 17)
    withExtendedLifetime((numbers, text, named)) {}
  }

  @Test func dataAndArraysOfNumbersShowTheirFirstBytes() {
    let data = Data((0..<200).map { UInt8($0) })
    let numbers: [Int32] = [1, 2, 3].map { $0 + (data.isEmpty ? 1 : 0) }
    // The second word of Data is its storage, with two bits for its representation.
    let word = unsafe unsafeBitCast(data, to: (UInt64, UInt64).self).1 & 0x3FFF_FFFF_FFFF_FFFF
    let storage = OwnProcess.reader().object(at: Address(word))
    #expect(storage?.type?.short == "__DataStorage")
    #expect(storage?.size == 200)
    #expect(storage?.firstBytes == Array(0..<16))
    let array = OwnProcess.reader().object(
      at: Address(unsafe unsafeBitCast(numbers, to: UInt64.self)))
    #expect(array?.firstBytes == [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])
    #expect(array?.words.hasSuffix("3 elements) 01 00 00 00 02 00 00 00 03 00 00 00") == true)
    withExtendedLifetime((data, numbers)) {}
  }

  @Test func withoutLeaveNoContentsAreShown() {
    let text = String(repeating: "secret", count: 9)
    let words = unsafe unsafeBitCast(text, to: (UInt64, UInt64).self)
    let reader = ObjectReader(
      ProcessReader(memory: OwnProcess.bytes, constants: OwnProcess.bytes), showsContents: false)
    let found = reader.object(at: Address(words.1 & 0x0FFF_FFFF_FFFF_FFFF))
    #expect(found?.type?.short == "__StringStorage")
    #expect(found?.text == nil && found?.size == nil)
    withExtendedLifetime(text) {}
  }

  @Test func whatIsNoObjectHasNoName() {
    let reader = OwnProcess.reader()
    let plain = Plain()
    let address = OwnProcess.address(of: plain)
    let metadata = OwnProcess.bytes(at: address, count: 8)?.littleEndian(at: 0, as: UInt64.self)
    for value in [0, 8, address.value + 8, address.value + 1, metadata ?? 0, .max, 1 << 63] {
      #expect(reader.object(at: Address(value)) == nil, "\(Address(value))")
    }
    withExtendedLifetime(plain) {}
  }

  /// `DamagedBytesTests` in `Tests/Proofs` reads ten times as many.
  @Test func damagedBytesGiveANameOrNoneAndNeverATrap() {
    let objects: [AnyObject] = [
      Plain(), Box([1: "one"]), Outer<Int>.Inner<String>(), GenericHeir<Double>(),
      Box((1, "two")), Box<any Error>(Failure()),
    ]
    var random = SystemRandomNumberGenerator()
    for round in 0..<10_000 {
      // Each read returns the bytes unchanged, or with one byte changed.
      let reader = ObjectReader(
        ProcessReader(
          memory: { address, count in
            guard var bytes = OwnProcess.bytes(at: address, count: count) else { return nil }
            if random.next() % 8 == 0 {
              bytes[Int(random.next() % UInt64(count))] = UInt8(truncatingIfNeeded: random.next())
            }
            return bytes
          },
          constants: { address, count in
            guard var bytes = OwnProcess.bytes(at: address, count: count) else { return nil }
            if random.next() % 8 == 0 {
              bytes[Int(random.next() % UInt64(count))] = UInt8(truncatingIfNeeded: random.next())
            }
            return bytes
          }, reads: 4096), showsContents: true)
      _ = reader.object(at: OwnProcess.address(of: objects[round % objects.count]))
    }
    withExtendedLifetime(objects) {}
  }
}
