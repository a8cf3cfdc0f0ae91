internal import Foundation

/// The two commands that run tests.
public enum Door: Sendable {
  /// `swift test`: takes minutes at most, and uses only its own build.
  case everyday
  /// `swift run proofs`: uses debuggers, ptrace, root and additional builds, and may take hours.
  case proofs

  /// The command that runs this process.
  ///
  /// SwiftPM's test runner has the extension "xctest".
  public static let current: Door =
    ((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "")
      .hasSuffix(".xctest") ? .everyday : .proofs

  /// Throws unless a proof is running.
  ///
  /// - Parameter need: the name of the requirement, for the error.
  static func requireProofs(_ need: String) throws {
    guard current == .proofs else { throw NeedsProofs(need: need) }
  }
}

/// A test of `swift test` asked for something that only tests in Tests/Proofs may use.
public struct NeedsProofs: Error, CustomStringConvertible {
  let need: String
  public var description: String { "\(need): only for tests of `swift run proofs` (Tests/Proofs)" }
}
