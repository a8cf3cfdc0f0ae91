import Foundation
import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

private class Plain {}
private final class Box<Value> {}
private final class Fixed<let count: Int, Value> {}
private final class Mixed<First, each Value, Last> { init(_ first: First.Type) {} }
private final class Sole<Value: ~Copyable> {}
private struct Single: ~Copyable { var number = 1 }
private protocol Marked {}
private protocol Bound: AnyObject {}
private enum Street {
  protocol Nested {}
  struct Number {}
}
extension Street { fileprivate protocol InExtension {} }
private struct Outer<First> {
  final class Inner<Second> {}
}
extension Outer { fileprivate final class Added {} }
extension Outer where First == Int { fileprivate final class OfNumbers {} }
extension Outer.Inner { fileprivate final class Added<Third> {} }
extension Fixed { fileprivate struct Part<Other> {} }
extension Mixed { fileprivate struct Part {} }
extension Dictionary where Key == String { fileprivate final class Register {} }
extension Int { fileprivate enum Tally { case one } }
extension Data { fileprivate struct Piece<Value> {} }
extension Task { fileprivate struct Part {} }
@globalActor private actor Counter { static let shared = Counter() }
private struct Failure: Error {}

/// Compares the names of types of every form with the runtime's names.
@Suite struct TypeNameTests {
  /// Expects the runtime's name, without its text for extensions and for types that only files know.
  ///
  /// An argument that is missing from metadata, because a constraint determines it, is "_".
  private func expectName<Value>(
    _ type: Box<Value>.Type, unknown: String? = nil, line: Int = #line
  ) {
    let box = Box<Value>()
    var name = _typeName(Box<Value>.self, qualified: true)
      .replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
      .replacing(/\(extension in \w+\):/, with: "")
    if let unknown { name = name.replacing(unknown, with: "_") }
    let found = OwnProcess.reader().object(at: OwnProcess.address(of: box))
    #expect(found?.type?.qualified == name, "line \(line)")
    withExtendedLifetime(box) {}
  }

  @Test func membersOfTuplesHaveTheirLabels() {
    expectName(Box<(a: Int, b: String)>.self)
    expectName(Box<(Int, b: String)>.self)
    expectName(Box<(first: Int, second: (x: UInt8, y: Bool))>.self)
    expectName(Box<[(key: String, value: [Int: (a: Int, b: Plain)])]>.self)
  }

  @Test func functionsHaveTheirEffectsIsolationAndConventions() {
    typealias All =
      @Counter @Sendable (inout Int, String...) async throws(Failure) -> sending Plain
    typealias Sending = (sending Plain) -> sending Plain
    typealias Isolated = (isolated Counter, borrowing Plain) async -> Void
    typealias Caller = nonisolated(nonsending) () async -> Void
    expectName(Box<((inout Int, Int...) -> Void)>.self)
    expectName(Box<(@Sendable () -> Void)>.self)
    expectName(Box<(@MainActor () -> Void)>.self)
    expectName(Box<(() throws(Failure) -> Void)>.self)
    expectName(Box<(@isolated(any) () async throws -> Void)>.self)
    expectName(Box<(@Sendable @isolated(any) (__owned Plain) async throws -> (Int) -> Void)>.self)
    expectName(Box<(@convention(c) (Int32, UInt8) -> Void)>.self)
    expectName(Box<(@convention(thin) () -> Void)>.self)
    expectName(Box<Sending>.self)
    expectName(Box<Isolated>.self)
    expectName(Box<Caller>.self)
    expectName(Box<All>.self)
    expectName(Box<(All, Caller)>.self)
  }

  @Test func typesOfProtocolsHaveAllOfTheirConstraints() {
    typealias Type = any (Marked & Bound).Type
    expectName(Box<(any Marked & AnyObject)>.self)
    expectName(Box<(any Bound & Marked)>.self)
    expectName(Box<(any Plain & Marked)>.self)
    expectName(Box<(any Plain & Bound & Marked)>.self)
    expectName(Box<(any Street.Nested)>.self)
    expectName(Box<(any Street.InExtension)>.self)
    expectName(Box<(any Marked).Type>.self)
    expectName(Box<(any Marked.Type)>.self)
    expectName(Box<(any Marked & Bound).Type>.self)
    expectName(Box<Type>.self)
    expectName(Box<(any Marked.Type).Type>.self)
    expectName(Box<AnyClass>.self)
    expectName(Box<Any.Type>.self)
    expectName(Box<(() -> Void).Type>.self)
    expectName(Box<Int.Type.Type>.self)
  }

  @Test func numbersAndListsOfTypesAreArgumentsLikeOthers() {
    expectName(Box<Fixed<3, Int>>.self)
    expectName(Box<Fixed<7, String>.Part<Bool>>.self)
    expectName(Box<InlineArray<3, InlineArray<2, UInt8>>>.self)
    expectName(Box<Mixed<Int, String, Double, Bool>>.self)
    expectName(Box<Mixed<Int, (a: Int, b: Int), Plain>.Part>.self)
    expectName(Box<Mixed<Int, Bool>>.self)
    expectName(Box<Sole<Single>>.self)
    expectName(Box<[[[[[[Int]]]]]]>.self)
  }

  @Test func aTypeInAnExtensionIsNamedByTheTypeThatIsExtended() {
    expectName(Box<Outer<Int>.Added>.self)
    expectName(Box<Outer<Int>.Inner<String>.Added<Double>>.self)
    expectName(Box<Int.Tally>.self)
    expectName(Box<ClosedRange<Int>.Index>.self)
    expectName(Box<Set<Int>.Index>.self)
    expectName(Box<Data.Piece<Int>>.self)
    expectName(Box<Outer<Int>.OfNumbers>.self, unknown: "Swift.Int")
    expectName(Box<[String: Int].Register>.self, unknown: "Swift.String")
    // The mangled names of these types do not start with a reference.
    expectName(Box<Task<Int, Never>.Part>.self, unknown: "Swift.Task<Swift.Int, Swift.Never>")
    expectName(Box<Int?.Part>.self, unknown: "Swift.Optional<Swift.Int>")
  }
}

extension Optional { fileprivate enum Part { case one } }
