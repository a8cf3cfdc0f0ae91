internal import CCrashLab
internal import Glibc

/// Uses of an object after it was freed, or after its memory was reused.
///
/// Each use prints the words in the memory, so that a test knows the contents without a report.
/// No code between the free and the use allocates memory, except to reuse it.
enum FreedObjects {
  static let scenes: [String: @Sendable (Int) -> Void] = [
    "freed-field": { unsafe useField(of: freed(number: $0)) },
    "freed-dispatch": { unsafe callThroughMetadata(of: freed(number: $0)) },
    "freed-self": { unsafe callMethod(of: freed(number: $0)) },
    "freed-release": { unsafe releaseAgain(freed(number: $0)) },
    "reused-field": { unsafe useField(of: reused(number: $0)) },
    "reused-self": {
      unsafe callMethod(of: $0 % 2 == 0 ? reused(number: $0) : reusedAgain(number: $0))
    },
  ]
}

/// What an item refers to; not another item, because the compiler clears references of a type to itself.
private final class Label {
  var number: Int
  init(_ number: Int) { self.number = number }
}

private class Item {
  var label: Label?
  var number: Int
  init(_ number: Int, _ label: Label?) { (self.number, self.label) = (number, label) }

  /// Called through the metadata, because a subclass overrides it.
  func count() -> Int { number }

  /// Crashes for a reason that has nothing to do with the object.
  @inline(never)
  final func crash_in_method() {
    printWords("self", self)
    unsafe place(at: 0x18, of: Int.self).pointee = self.number
    withExtendedLifetime(self) {}
  }
}

private final class Parcel: Item {
  override func count() -> Int { number &* 2 }
}

/// An object of the same size as an item, with a number instead of the item's reference.
private final class Lodger {
  var word: UInt
  var number: Int
  init(_ number: Int) {
    self.number = number
    word = 0x1234_5678_9AB0 &+ UInt(number) &* 0x7_7770
  }
}

nonisolated(unsafe) private var metadata: UInt64 = 0
nonisolated(unsafe) private var lodgers: [AnyObject] = []

private func printWords(_ name: StaticString, _ object: AnyObject) {
  unsafe printWords(name, at: UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()))
}

private func printWords(
  _ name: StaticString, at place: UnsafeRawPointer, _ metadata: UInt64 = unsafe metadata
) {
  name.withUTF8Buffer { text in
    guard let start = text.baseAddress else { return }
    unsafe start.withMemoryRebound(to: CChar.self, capacity: text.count) { name in
      unsafe crashlab_print_words(name, place, metadata)
    }
  }
}

/// Frees an item and the label that it refers to, and prints the words left in the memory of both.
@inline(never) @_optimize(none)
private func freed(number: Int) -> Unmanaged<Item> {
  unsafe lodgers.reserveCapacity(256)
  let label = Label(number)
  let item = unsafe Unmanaged.passRetained(Item(number, label))
  let labelPlace = unsafe UnsafeRawPointer(Unmanaged.passUnretained(label).toOpaque())
  unsafe metadata = unsafe item.toOpaque().load(as: UInt64.self)
  let labelMetadata = unsafe labelPlace.load(as: UInt64.self)
  _ = consume label
  unsafe item.release()
  unsafe printWords("label", at: labelPlace, labelMetadata)
  unsafe printWords("object", at: UnsafeRawPointer(item.toOpaque()))
  return unsafe item
}

/// A freed item whose memory a `Lodger` has reused.
@inline(never) @_optimize(none)
private func reused(number: Int) -> Unmanaged<Item> {
  let item = unsafe freed(number: number)
  unsafe reuse(item) { Lodger(number) }
  return unsafe item
}

/// A freed item whose memory another item has reused.
@inline(never) @_optimize(none)
private func reusedAgain(number: Int) -> Unmanaged<Item> {
  let item = unsafe freed(number: number)
  unsafe reuse(item) { Item(number, nil) }
  return unsafe item
}

@inline(never) @_optimize(none)
private func reuse(_ item: Unmanaged<Item>, _ make: () -> AnyObject) {
  for _ in 0..<256 {
    let lodger = make()
    unsafe lodgers.append(lodger)
    if unsafe Unmanaged.passUnretained(lodger).toOpaque() == item.toOpaque() {
      unsafe printWords("reused", at: UnsafeRawPointer(item.toOpaque()))
      return
    }
  }
  exit(Command.survived)
}

@inline(never) @_optimize(none)
private func useField(of item: Unmanaged<Item>) {
  unsafe item._withUnsafeGuaranteedRef { item in
    let label = item.label
    say("\(label?.number ?? 0)")
  }
}

@inline(never) @_optimize(none)
private func callMethod(of item: Unmanaged<Item>) {
  unsafe item._withUnsafeGuaranteedRef { $0.crash_in_method() }
}

@inline(never) @_optimize(none)
private func callThroughMetadata(of item: Unmanaged<Item>) {
  unsafe item._withUnsafeGuaranteedRef { say("\($0.count())") }
}

@inline(never) @_optimize(none)
private func releaseAgain(_ item: Unmanaged<Item>) {
  unsafe item.release()
  unsafe item.release()
}
