internal import CCrashLab
internal import Glibc

/// The programs of the truth table that crash among objects: each is a piece of a shop.
///
/// The number of a program is its number in the table.
enum ObjectScenes {
  static let all: [String: @Sendable () -> Void] = [
    "39": unwrapInSubclass, "40": readPastEnd, "43": callWithReusedContext,
    "44": useStructureOfC, "45": useObjectsOnStack, "46": callMethodOfOtherClass,
    "46-virtual": callVirtualMethodOfOtherClass,
  ]

  /// 39: a subclass overrides a method, and unwraps nil there.
  @inline(never)
  private static func unwrapInSubclass() {
    let renderer: Renderer = PriceRenderer()
    say(renderer.render("tea"))
  }

  /// 40: an index past the end of a generic buffer's array.
  @inline(never)
  private static func readPastEnd() {
    let buffer = RingBuffer<Money>(capacity: 4) { Money(cents: $0, currency: "EUR") }
    say("\(buffer.newest(9).cents)")
  }

  /// 43: a callback of C gets an object that was freed, whose memory an object of another class has reused.
  @inline(never)
  private static func callWithReusedContext() {
    let context = unsafe Unmanaged.passRetained(Session(user: "ann")).toOpaque()
    unsafe crashlab_set_callback(
      { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Session>.fromOpaque(context).takeUnretainedValue().renew()
      }, context)
    unsafe Unmanaged<Session>.fromOpaque(context).release()
    for number in 0..<64 {
      let invoice = Invoice(number: number)
      unsafe invoices.append(invoice)
      if unsafe Unmanaged.passUnretained(invoice).toOpaque() == context { break }
    }
    crashlab_run_callback()
  }

  /// 44: a structure of C begins with the address of a class's metadata and the number 3.
  @inline(never)
  private static func useStructureOfC() {
    let invoice = Invoice(number: 1)
    let object = unsafe UnsafeRawPointer(Unmanaged.passUnretained(invoice).toOpaque())
    unsafe crash_cache_entry(object.load(as: UInt.self))
    withExtendedLifetime(invoice) {}
  }

  /// 45: objects that the optimizer allocates on the stack.
  @inline(never)
  private static func useObjectsOnStack() {
    let (first, second) = (Point(x: count(), y: 1), Point(x: 3, y: count()))
    crash_between(first, second)
    say("\(first.x + second.y)")
  }

  /// 46: a method runs on an object of another class.
  @inline(never)
  private static func callMethodOfOtherClass() {
    let entry: AnyObject = Tag(word: 0x1234_5678_9AB0)
    mistake(entry, for: Ledger.self).add(1)
  }

  /// 46: the called method is not in the class of the object.
  @inline(never)
  private static func callVirtualMethodOfOtherClass() {
    let entry: AnyObject = Tag(word: 1)
    say(mistake(entry, for: Renderer.self).render("tea"))
  }

  /// What `unsafeDowncast` does in a program without checks.
  @inline(never)
  private static func mistake<Other: AnyObject>(_ object: AnyObject, for type: Other.Type) -> Other
  {
    unsafe Unmanaged<Other>.fromOpaque(Unmanaged.passUnretained(object).toOpaque())
      .takeUnretainedValue()
  }

  /// The number 1, which the optimizer cannot compute in advance.
  @inline(never) @_optimize(none)
  fileprivate static func count() -> Int { 1 }
}

private class Renderer {
  let title = "price"
  func begin() {}
  func render(_ name: String) -> String { title + name }
}

private final class PriceRenderer: Renderer {
  private let prices: [String: Int] = ["coffee": 3]

  @inline(never)
  override func render(_ name: String) -> String {
    let price = prices[name]!
    return "\(title) of \(name): \(price)"
  }
}

private struct Money {
  let cents: Int
  let currency: String
}

private final class RingBuffer<Element> {
  private var storage: [Element]
  private var head = 0

  init(capacity: Int, _ make: (Int) -> Element) { storage = (0..<capacity).map(make) }

  @inline(never)
  func newest(_ age: Int) -> Element {
    head &+= 1
    return storage[head + age]
  }
}

nonisolated(unsafe) private var invoices: [Invoice] = []

private final class Session {
  private final class Key { var uses = 0 }

  private var key: Key?
  private var user: String

  init(user: String) { (self.user, key) = (user, Key()) }

  @inline(never)
  func renew() {
    let key = key
    key?.uses += 1
    say(user)
  }
}

/// An object of the size of a session.
private final class Invoice {
  private var word: UInt
  private var first = 1
  private var second = 2

  init(number: Int) { word = 0x1234_5678_9AB0 &+ UInt(number) &* 16 }
}

private final class Point {
  var x: Int
  var y: Int

  init(x: Int, y: Int) { (self.x, self.y) = (x, y) }
}

@inline(never)
private func crash_between(_ first: Point, _ second: Point) {
  unsafe place(at: 0x18, of: Int.self).pointee = first.x + second.y
}

private final class Tag {
  private var word: UInt

  init(word: UInt) { self.word = word }
}

private final class Ledger {
  private final class Page { var sum = 0 }

  private var page: Page? = Page()

  @inline(never)
  func add(_ amount: Int) {
    page?.sum += amount
    say("\(page?.sum ?? 0)")
  }
}
