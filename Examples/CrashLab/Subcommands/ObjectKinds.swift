internal import Glibc

// Types for every form of metadata and type descriptors, with an object of each.

class Basket {
  var number = 1
  var label = "label"
}
private final class GiftBasket: Basket { var ribbon: String? = "red" }
final class PublicBasket { var fruits = [1, 2, 3] }

private class Crate<Content> {
  var content: Content?
  init() {}
}
private final class LabeledCrate<Content>: Crate<Content> { var label = "" }
private final class IntegerCrate: Crate<Int> {}
private final class FixedCrate<let count: Int, Content> { var content: Content? }
private final class MixedCrate<First, each Content> { init(_ first: First.Type) {} }
private final class SoleCrate<Content: ~Copyable> {}

private enum Warehouse<Key> {
  final class Shelf<Value> { var items: [(Key, Value)] = [] }
  struct Slot { var key: Key }
  enum State {
    case empty
    case full(Key)
    enum Reason<Detail> { case none, some(Detail) }
  }
}
extension Warehouse {
  final class Ramp { var key: Key? }
}
extension Warehouse.Shelf {
  final class Edge<Third> { var third: Third? }
}
extension Array {
  final class Pile { var element: Element? }
}
extension Dictionary where Key == String {
  struct Register {}
}
extension Int {
  enum Tally { case one }
}

private protocol Sold {}
private protocol Owned: AnyObject {}
private enum Street {
  protocol Shop {}
  actor Keeper { var sum = 0 }
}
struct SoldOut: Error { var count = 3 }
enum Refused: Error { case late(String) }
private actor Till { var sum = 0 }
@globalActor private actor Counter { static let shared = Counter() }
private struct Single: ~Copyable { var number = 1 }

/// Objects whose generic types have one type as an argument.
private func objects<Content>(of content: Content.Type) -> [AnyObject] {
  [
    Crate<Content>(), LabeledCrate<Content>(), Crate<[Content]>(), Crate<Content?>(),
    Warehouse<Content>.Shelf<Int>(), Warehouse<String>.Shelf<Content>(), Crate<Crate<Content>>(),
    Warehouse<Content>.Ramp(), FixedCrate<3, Content>(),
  ]
}

/// At least 200 objects, each of another type.
func makeObjects() -> [AnyObject] {
  final class Local {}
  struct LocalValue {}
  typealias Handler = @Counter @Sendable (inout Int, String...) async throws(SoldOut) -> Basket
  typealias CallBack = @convention(c) (Int32, UInt8) -> Void

  var all: [AnyObject] = [
    Basket(), GiftBasket(), PublicBasket(), IntegerCrate(), Till(), Street.Keeper(), Local(),
  ]
  // The forms that a generic argument can have.
  all += objects(of: Int.self) + objects(of: String.self) + objects(of: Basket.self)
  all += objects(of: [Int: String].self) + objects(of: (Int, String).self)
  all += objects(of: (first: Int, second: (x: UInt8, y: Bool)).self)
  all += objects(of: Warehouse<Int>.State.self)
  all += objects(of: Warehouse<String>.State.Reason<Double>.self)
  all += objects(of: (any Sold).self) + objects(of: (any Sold & AnyObject).self)
  all += objects(of: (any Street.Shop).self) + objects(of: (any Basket & Sold).self)
  all += objects(of: (any Owned & Sold).self) + objects(of: (any Error).self)
  all += objects(of: Any.self) + objects(of: AnyObject.self)
  all += objects(of: Int.Type.self) + objects(of: (any Sold).Type.self)
  all += objects(of: (any Sold.Type).self) + objects(of: ((Int) -> Void).self)
  all += [
    Crate<Handler>(), Crate<CallBack>(), Crate<(Handler, CallBack)>(), Crate<() -> () -> Int>(),
    Crate<@isolated(any) () async -> Void>(), Crate<(inout Int) -> Void>(),
    Crate<(sending Basket) -> sending Basket>(), Crate<(isolated Till) -> Void>(),
    Crate<@convention(thin) () -> Void>(), Crate<(() -> Void).Type>(), SoleCrate<Single>(),
    FixedCrate<0, Warehouse<Int>.Slot>(), Crate<InlineArray<4, UInt16>>(),
    MixedCrate<Int>(Int.self), MixedCrate<Int, String>(Int.self),
    MixedCrate<Int, (a: Int, b: Int), [Basket]>(Int.self), [Int].Pile(), Crate<[Int].Pile>(),
    Crate<[String: Int].Register>(), Crate<Int.Tally>(), Crate<LocalValue>(),
    Warehouse<Int>.Shelf<String>.Edge<Double>(), Crate<timespec>(), Crate<Character?>(),
    Crate<Set<AnyHashable>.Index>(), Crate<ClosedRange<Int>.Index>(), Crate<SIMD4<Float>>(),
    Crate<any Sequence<Int>>(), Crate<Task<Int, Never>>(), Crate<Result<Void, SoldOut>>(),
    ManagedBuffer<Int, UInt8>.create(minimumCapacity: 4) { _ in 1 }, \Basket.number,
  ]
  return all
}
