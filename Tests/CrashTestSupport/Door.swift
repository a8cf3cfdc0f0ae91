internal import Foundation

/// The two commands that run tests.
public enum Door: Sendable {
  /// `swift test`: minutes at most, with nothing but what it built itself.
  case everyday
  /// `swift run proofs`: debuggers, ptrace, root, builds of their own, hours.
  case proofs

  /// The one that this process came through.
  ///
  /// SwiftPM gives the runner of tests the extension "xctest".
  public static let current: Door =
    ((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "")
      .hasSuffix(".xctest") ? .everyday : .proofs

  /// Refuses what only a proof may do.
  ///
  /// - Parameter need: names it in the error.
  static func requireProofs(_ need: String) throws {
    guard current == .proofs else { throw NeedsProofs(need: need) }
  }
}

/// A test of `swift test` asked for what belongs into Tests/Proofs.
public struct NeedsProofs: Error, CustomStringConvertible {
  let need: String
  public var description: String { "\(need): only for tests of `swift run proofs` (Tests/Proofs)" }
}
