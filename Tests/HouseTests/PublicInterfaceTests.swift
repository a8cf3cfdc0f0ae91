import Foundation
import Testing

@Suite struct PublicInterfaceTests {
  /// A change of the file is a change for users, and must be in the CHANGELOG.
  ///
  /// `UPDATE_PUBLIC_INTERFACE=1 swift test --filter PublicInterface` writes it.
  @Test func theProductsExportWhatTheFileSays() throws {
    let lines = try PublicInterface.lines()
    if ProcessInfo.processInfo.environment["UPDATE_PUBLIC_INTERFACE"] != nil {
      let text = lines.joined(separator: "\n") + "\n"
      try text.write(
        toFile: House.root + "/" + PublicInterface.path, atomically: true, encoding: .utf8)
      return
    }
    let known = Set(try House.text(PublicInterface.path).split(separator: "\n").map(String.init))
    #expect(lines.filter { !known.contains($0) } == [], "new")
    #expect(known.subtracting(lines).sorted() == [], "gone")
  }

  @Test func theScanFindsWhatIsPublicAndNothingElse() {
    let source = """
      public struct Crate<Value>: Sendable where Value: Sendable {
        public let size: Int = 5
        public var time = Duration.seconds(3)
        let hidden = [1, 2].map { $0 + 1 }
        @discardableResult
        public func open(
          _ key: String = "", then body: (Int) -> Void
        ) async throws(Fault) -> [Int]? { [] }
        public enum Lid { case flat, round(Int) }
        package func secret() {}
      }
      extension Crate: Equatable {
        public static func == (left: Self, right: Self) -> Bool { true }
      }
      public protocol Box {
        func lift() throws
      }
      public func other() {}
      """
    var scan = DeclarationScan(SwiftTokens(source).tokens) { name, _ in name != "other" }
    scan.readFile()
    #expect(
      scan.lines == [
        "public struct Crate<Value>: Sendable where Value: Sendable",
        "Crate public let size: Int",
        "Crate public var time = Duration.seconds(3)",
        "Crate @discardableResult public func open(_ key: String = \"\", then body: (Int) -> Void)"
          + " async throws(Fault) -> [Int]?",
        "Crate public enum Lid", "Crate.Lid public case flat, round(Int)",
        "extension Crate: Equatable",
        "Crate public static func = = (left: Self, right: Self) -> Bool",
        "public protocol Box", "Box func lift() throws",
      ])
  }
}
