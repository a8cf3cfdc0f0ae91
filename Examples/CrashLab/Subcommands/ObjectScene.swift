internal import Glibc
internal import Postmortem

/// Objects of many kinds, of which some lie in registers and on the stack of a crash; or one that is used
/// after its end.
struct ObjectScene: Subcommand {
  private let scene: String
  private let database: String
  /// The first object that the crash has at hand.
  private let first: Int

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("SCENE", "DIR", "FIRST")
    guard let first = Int(words[2]), first >= 0 else { throw UsageError("no number \(words[2])") }
    scene = words[0]
    database = words[1]
    self.first = first
  }

  func run() throws {
    if database != "none" {
      try startHandler(database: database, identifier: "objects", product: "objects")
    }
    switch scene {
    case "crash": crashAmongObjects(from: first)
    case "use-after-free": useAfterFree()
    case "unowned-after-free": useUnownedAfterFree()
    case "double-release": releaseTwice()
    case "wild-retain": retainNoObject()
    case "in-deinit": crashInDeinitializer()
    default: throw UsageError("no scene \(scene)")
    }
    exit(Command.survived)
  }
}

// MARK: - Kinds of objects

private class Basket {
  var number = 1
  var label = "label"
}
private final class GiftBasket: Basket { var ribbon: String? = "red" }
final class PublicBasket { var fruits = [1, 2, 3] }
private class Crate<Content> {
  var content: Content
  init(_ content: Content) { self.content = content }
}
private final class LabeledCrate<Content>: Crate<Content> { var label = "" }
private final class IntegerCrate: Crate<Int> { init() { super.init(1) } }
private enum Warehouse<Key> {
  final class Shelf<Value> { var items: [(Key, Value)] = [] }
  struct Slot { var key: Key }
}
private protocol Sold {}
private struct SoldOut: Error { var count = 3 }
private enum Refused: Error { case late(String) }
private actor Till { var sum = 0 }

/// The objects, which are never freed.
private func makeObjects() -> [AnyObject] {
  func crates<Content>(_ content: Content) -> [AnyObject] {
    [
      Crate(content), LabeledCrate(content), Crate([content]), Crate<Content?>(content),
      Warehouse<Content>.Shelf<Int>(), Warehouse<String>.Shelf<Content>(), Crate(Crate(content)),
    ]
  }
  var objects: [AnyObject] = [Basket(), GiftBasket(), PublicBasket(), IntegerCrate(), Till()]
  objects += crates(1) + crates("text") + crates(2.5) + crates(Basket()) + crates([1: "one"])
  objects += crates((1, "two")) + crates(UInt8(1)) + crates(Set<Int>([1])) + crates(true)
  objects += crates(Warehouse<Int>.Slot(key: 1)) + crates(SoldOut()) + crates(Character("c"))
  objects += [Crate<any Error>(SoldOut()), Crate<Any>(1), Crate<(any Sold)?>(nil)]
  return objects
}

private func address(of object: AnyObject) -> UInt {
  UInt(bitPattern: unsafe Unmanaged.passUnretained(object).toOpaque())
}

/// Prints each object's address and type, then dies with some of them in registers and on the stack.
private func crashAmongObjects(from first: Int) {
  let objects = makeObjects()
  var lines = ""
  for object in objects {
    lines +=
      "0x\(String(address(of: object), radix: 16)) \(_typeName(type(of: object), qualified: true))\n"
  }
  for (error, type) in [(SoldOut(), SoldOut.self), (Refused.late(""), Refused.self)]
    as [(any Error, any Error.Type)]
  {
    let word = unsafe unsafeBitCast(error as any Error, to: UInt.self)
    lines += "0x\(String(word, radix: 16)) error \(_typeName(type, qualified: true))\n"
    unsafe keptErrors.append(error)
  }
  say(lines)
  func object(_ offset: Int) -> AnyObject { objects[(first + offset) % objects.count] }
  unsafe withUnsafeTemporaryAllocation(of: UInt.self, capacity: 12) { words in
    for index in 0..<10 { unsafe words[index] = address(of: object(6 + index)) }
    for index in 0..<2 {
      unsafe words[10 + index] = unsafeBitCast(keptErrors[index] as any Error, to: UInt.self)
    }
    crash_among_objects(object(0), object(1), object(2), object(3), object(4), object(5))
    unsafe say("\(words[0])")
  }
  withExtendedLifetime(objects) {}
}

nonisolated(unsafe) private var keptErrors: [any Error] = []

@inline(never)
private func crash_among_objects(
  _ first: AnyObject, _ second: AnyObject, _ third: AnyObject, _ fourth: AnyObject,
  _ fifth: AnyObject, _ sixth: AnyObject
) {
  unsafe place(at: 0x18, of: UInt64.self).pointee = 1
  withExtendedLifetime((first, second, third, fourth, fifth, sixth)) {}
}

// MARK: - Ends

private final class Node {
  var next: Node?
  var number = 1
  init(next: Node?) { self.next = next }
}

/// Frees an object while it is in use, fills its fields as allocators do on request, and then uses what it refers
/// to.
@inline(never)
private func useAfterFree() {
  let node = unsafe Unmanaged.passRetained(Node(next: Node(next: nil)))
  let more = unsafe Unmanaged.passRetained(Node(next: nil))
  unsafe more.release()
  unsafe node.release()
  unsafe memset(node.toOpaque() + 16, 0x77, 16)
  unsafe use(node)
}

@inline(never) @_optimize(none)
private func use(_ node: Unmanaged<Node>) {
  unsafe node._withUnsafeGuaranteedRef { node in
    let next = node.next
    say("\(next?.number ?? 0)")
  }
}

private final class Owner {
  unowned var node: Node
  init(_ node: Node) { self.node = node }
}

@inline(never) @_optimize(none)
private func useUnownedAfterFree() {
  var node: Node? = Node(next: nil)
  guard let owned = node else { return }
  let owner = Owner(owned)
  _ = consume owned
  node = nil
  say("\(owner.node.number)\(node == nil)")
}

@inline(never) @_optimize(none)
private func releaseTwice() {
  let node = unsafe Unmanaged.passRetained(Node(next: Node(next: nil)))
  unsafe node.release()
  unsafe node.release()
  unsafe node.release()
}

@inline(never) @_optimize(none)
private func retainNoObject() {
  guard let place = unsafe UnsafeRawPointer(bitPattern: 0x1234_5678_9ab0) else { return }
  _ = unsafe Unmanaged<AnyObject>.fromOpaque(place).retain()
}

private final class Closing {
  var number = 7
  deinit { crash_closing(self) }
}

@inline(never)
private func crash_closing(_ object: Closing) {
  unsafe place(at: 0x18, of: UInt64.self).pointee = UInt64(object.number)
  withExtendedLifetime(object) {}
}

@inline(never) @_optimize(none)
private func crashInDeinitializer() {
  let object = Closing()
  _ = consume object
}
