internal import CCrashLab
internal import Glibc
internal import Postmortem

/// A crash with references to objects of many types in registers and on the stack, or by an invalid use of an
/// object.
struct ObjectScene: Subcommand {
  private let scene: String
  private let database: String
  /// A number that varies the scene; for `crash`, the index of the first object to which a register points.
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
    case "collections": crashAmongCollections(count: 1 + first)
    case "use-after-free": useAfterFree(fill: fills[first / 2 % fills.count])
    case "unowned-after-free": useUnownedAfterFree()
    case "double-release": releaseTwice()
    case "wild-retain": retainNoObject(at: 0x1234_5678_9ab0 &+ UInt(first) &* 0x7_7770)
    case "empty-optional": useEmptyOptional()
    case "empty-case": retainEmptyCase()
    case "in-deinit": crashInDeinitializer()
    default:
      guard let use = FreedObjects.scenes[scene] else { throw UsageError("no scene \(scene)") }
      use(first)
    }
    exit(Command.survived)
  }
}

// MARK: - A crash among objects

private func address(of object: AnyObject) -> UInt {
  UInt(bitPattern: unsafe Unmanaged.passUnretained(object).toOpaque())
}

/// Prints each object's address and type, then crashes with references to some of them in registers and on the stack.
private func crashAmongObjects(from first: Int) {
  let objects = makeObjects()
  printObjects(objects)
  // A number of at least the count of objects selects other neighbors.
  let step = 1 + first / objects.count
  func object(_ offset: Int) -> AnyObject { objects[(first + offset * step) % objects.count] }
  // Errors come first. An allocation of more than 1 KiB would be on the heap.
  let count = 120
  unsafe withUnsafeTemporaryAllocation(of: UInt.self, capacity: count) { words in
    for index in 0..<keptErrorCount {
      unsafe words[index] = unsafeBitCast(keptErrors[index] as any Error, to: UInt.self)
    }
    for index in 0..<count - keptErrorCount {
      unsafe words[keptErrorCount + index] = address(of: object(6 + index))
    }
    crash_among_objects(object(0), object(1), object(2), object(3), object(4), object(5))
    unsafe say("\(words[0])")
  }
  withExtendedLifetime(objects) {}
}

/// Prints the contents of collections, then crashes with references to them in registers and on the stack.
private func crashAmongCollections(count: Int) {
  let numbers = (0..<count).map { $0 * 7 - 3 }
  let names = Dictionary(uniqueKeysWithValues: numbers.map { ($0, "name \($0)") })
  let places = Dictionary(
    uniqueKeysWithValues: numbers.map { ("a place that has a name \($0)", $0) })
  let switches = ["a literal of many more bytes": true, "off": false]
  let marks = Set(numbers.map { UInt16(truncatingIfNeeded: $0) })
  let words = Set(numbers.map { "word \($0)" })
  let texts = numbers.map { "text \($0)" }
  func quoted(_ text: String) -> String { "\"\(text)\"" }
  let all: [(AnyObject, [String])] = unsafe [
    (unsafeBitCast(names, to: AnyObject.self), names.map { "\($0): \(quoted($1))" }),
    (unsafeBitCast(places, to: AnyObject.self), places.map { "\(quoted($0)): \($1)" }),
    (unsafeBitCast(switches, to: AnyObject.self), switches.map { "\(quoted($0)): \($1)" }),
    (unsafeBitCast(marks, to: AnyObject.self), marks.map { "\($0)" }),
    (unsafeBitCast(words, to: AnyObject.self), words.map(quoted)),
    (unsafeBitCast(texts, to: AnyObject.self), texts.map(quoted)),
  ]
  say(
    all.map { "0x\(String(address(of: $0), radix: 16)) \($1.joined(separator: ", "))\n" }.joined())
  crash_among_objects(all[0].0, all[1].0, all[2].0, all[3].0, all[4].0, all[5].0)
}

/// Prints the address and the type of each object, and of two errors, which it keeps.
private func printObjects(_ objects: [AnyObject]) {
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
}

/// Prints objects, then runs a crash with references to some of them in registers and on the stack.
func surroundWithObjects(_ crash: @escaping @Sendable () -> Void) {
  let objects = makeObjects()
  printObjects(objects)
  let body = CrashBody(crash)
  let words = objects.map { UInt64(address(of: $0)) }
  // The last six objects are in registers, the first 120 on the stack.
  unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 120) { stack in
    for index in stack.indices { unsafe stack[index] = words[index] }
    unsafe crashlab_plant(
      body.function, body.context, "objects", Array(words.suffix(6)), "no secret at all")
    unsafe say("\(stack[0])")
  }
  withExtendedLifetime(objects) {}
}

nonisolated(unsafe) private var keptErrors: [any Error] = []
private var keptErrorCount: Int { unsafe keptErrors.count }

@inline(never)
private func crash_among_objects(
  _ first: AnyObject, _ second: AnyObject, _ third: AnyObject, _ fourth: AnyObject,
  _ fifth: AnyObject, _ sixth: AnyObject
) {
  unsafe place(at: 0x18, of: UInt64.self).pointee = 1
  withExtendedLifetime((first, second, third, fourth, fifth, sixth)) {}
}

// MARK: - Invalid uses of objects

private final class Node {
  var next: Node?
  var number = 1
  init(next: Node?) { self.next = next }
}

/// Bytes that allocators write over freed memory.
private let fills: [Int32] = [0x77, 0x5A, 0xA5, 0xDB, 0xFD, 0xCC]

/// Frees an object while it is in use, fills its fields as debugging allocators do, and then uses an object that a
/// field referred to.
@inline(never)
private func useAfterFree(fill: Int32) {
  let node = unsafe Unmanaged.passRetained(Node(next: Node(next: nil)))
  let more = unsafe Unmanaged.passRetained(Node(next: nil))
  unsafe more.release()
  unsafe node.release()
  unsafe memset(node.toOpaque() + 16, fill, 16)
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
private func retainNoObject(at address: UInt) {
  guard let place = unsafe UnsafeRawPointer(bitPattern: address) else { return }
  _ = unsafe Unmanaged<AnyObject>.fromOpaque(place).retain()
}

/// An enum whose cases without a payload are stored as 0 and 1.
private enum Link {
  case closed
  case open
  case node(Node)
}

/// Uses nil as an object, as code compiled with -Ounchecked does.
@inline(never) @_optimize(none)
private func useEmptyOptional() {
  let node: Node? = nil
  let object = unsafe unsafeBitCast(node, to: Node.self)
  say("\(object.number)")
}

@inline(never) @_optimize(none)
private func retainEmptyCase() {
  let link = Link.open
  let object = unsafe unsafeBitCast(link, to: Unmanaged<Node>.self)
  _ = unsafe object.retain()
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
