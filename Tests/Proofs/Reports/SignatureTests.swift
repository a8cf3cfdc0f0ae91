import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import Stackwalk
import Testing

/// One source, compiled in several ways and crashed on several threads: the same crash must have the same
/// signature, another crash another one.
///
/// Every crash is in a new process, so that addresses differ each time.
@Suite struct SignatureTests {
  /// A way to compile the source.
  private struct Build {
    let name: String
    let flags: [String]
    var inlining = ""
    /// True to put lines, a function and a closure before those that crash.
    var isLaterVersion = false
  }

  private static let builds = [
    Build(name: "debug", flags: ["-Onone"]),
    Build(name: "release", flags: ["-O"]),
    Build(name: "inlined", flags: ["-O"], inlining: "@inline(__always)"),
    Build(name: "not inlined", flags: ["-O"], inlining: "@inline(never)"),
    Build(name: "debug, later", flags: ["-Onone"], isLaterVersion: true),
    Build(name: "release, later", flags: ["-O"], isLaterVersion: true),
  ]

  /// The signature of each kind of crash, the same in every build.
  private static let expected = [
    // An index out of range, in a function called from a closure called from the standard library.
    "SIGILL | Shop.Cart.price(of:) | Shop.Cart.total(_:) | Shop.checkOut(_:_:)",
    "SIGSEGV | Shop.Cart.discount(_:) | Shop.checkOut(_:_:) | Shop.run(_:)",
    // A call through a protocol, with or without a witness function on the stack.
    "SIGILL | Shop.Card.pay(_:) | Shop.checkOut(_:_:) | Shop.run(_:)",
    "SIGSEGV | recursion | Shop.even(_:), Shop.odd(_:)",
    // The same as the first, called from another function.
    "SIGILL | Shop.Cart.price(of:) | Shop.Cart.total(_:) | Shop.preview(_:_:)",
    // The same place as the second, with another signal.
    "SIGABRT | Shop.Cart.discount(_:) | Shop.checkOut(_:_:) | Shop.run(_:)",
  ]

  @Test func areTheSameInEveryBuildAndOnEveryThreadAndDifferForDifferentCrashes() async throws {
    let directory = try TemporaryDirectory()
    let symbols = SymbolSource()
    var differences: [String] = []
    for build in Self.builds {
      let library = try await Self.compile(build, in: try directory.subdirectory(build.name))
      for (kind, expected) in Self.expected.enumerated() {
        let places =
          kind == 0 && build.inlining.isEmpty && !build.isLaterVersion
          ? ["main", "pthread", "dispatch", "task"] : ["main"]
        for place in places {
          let signature = try await Self.signature(
            library, kind: kind, place: place,
            directory: try directory.subdirectory("\(build.name)-\(kind)-\(place)"),
            symbols: symbols)
          if signature != expected {
            differences.append("\(build.name) on \(place): \(signature ?? "none"), not \(expected)")
          }
        }
      }
    }
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
    #expect(Set(Self.expected).count == Self.expected.count)
  }

  private static func compile(_ build: Build, in directory: String) async throws -> String {
    var text = source.replacingOccurrences(of: "INLINING", with: build.inlining)
    if build.isLaterVersion {
      text = "\n\nfunc other() -> Int { [1].map { $0 + 1 }.count }\n" + text
      text = text.replacingOccurrences(
        of: "// CLOSURE", with: "\n    let more = names.map { $0 + \"d\" }\n    _ = more")
    }
    try text.write(toFile: directory + "/shop.swift", atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      "/usr/bin/env",
      ["swiftc", "-swift-version", "6", "-emit-library", "-module-name", "Shop", "-g"] + build.flags
        + ["-o", "libShop.so", "shop.swift"], in: directory, patience: 300)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    return directory + "/libShop.so"
  }

  private static func signature(
    _ library: String, kind: Int, place: String, directory: String, symbols: SymbolSource
  ) async throws -> String? {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"),
      ["library", directory + "/database", library, String(kind), place], in: directory,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    let pending = directory + "/database/pending-serialized-dumps"
    let dump = try #require(
      try FileManager.default.contentsOfDirectory(atPath: pending).first {
        $0.hasPrefix("shop@") && !$0.contains(".")
      }, "\(child.end) \(child.standardError)")
    let snapshot = try Victim.snapshot(ofDump: pending + "/" + dump)
    return Verdict(of: snapshot, symbols: symbols).signature
  }

  private static let source = #"""
    import Glibc

    struct Item { var price: Int }

    final class Cart {
      var items: [Item] = [Item(price: 1)]

      func total(_ count: Int) -> Int {
        let names = ["a", "b"].map { $0 + "c" } // CLOSURE
        var sum = names.count
        (0..<count).forEach { index in sum += price(of: index) }
        return sum
      }

      INLINING
      func price(of index: Int) -> Int { items[index].price + 1 }

      INLINING
      func discount(_ pointer: UnsafePointer<Int>?) -> Int {
        guard let pointer else { abort() }
        return pointer.pointee + items.count
      }
    }

    protocol Payment { func pay(_ amount: Int) -> Int }

    struct Card: Payment {
      var number: Int?
      func pay(_ amount: Int) -> Int { amount / number! + 1 }
    }

    INLINING
    func checkOut(_ cart: Cart, _ kind: Int32) -> Int {
      switch kind {
      case 0: return cart.total(Int(kind) + 9) + 1
      case 1: return cart.discount(UnsafePointer(bitPattern: 0x18)) + 2
      case 2: return payments[Int(kind) - 2].pay(3) + 3
      case 3: return even(Int(kind)) + 4
      case 5: return cart.discount(nil) + 6
      default: return 5
      }
    }

    func preview(_ cart: Cart, _ kind: Int32) -> Int { cart.total(Int(kind) + 9) * 2 }

    nonisolated(unsafe) var payments: [any Payment] = [Card(number: nil)]
    nonisolated(unsafe) var depth = 0

    @inline(never)
    func even(_ number: Int) -> Int { depth += 1; return odd(number + 1) + depth }
    @inline(never)
    func odd(_ number: Int) -> Int { depth += 2; return even(number + 1) + depth }

    @_cdecl("shop_run") public func run(_ kind: Int32) {
      let cart = Cart()
      depth += kind == 4 ? preview(cart, kind) : checkOut(cart, kind)
    }
    """#
}
