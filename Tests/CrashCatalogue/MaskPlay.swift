internal import CrashTestSupport
internal import Foundation
internal import PendingDumps
public import Testing

/// A scene of crash-lab's `masks`: a program that blocks crash signals sees the same with a handler as without.
public struct MaskPlay: Sendable, CustomTestStringConvertible {
  public let scene: String
  /// The signal that ends the process and is reported; nil if the process ends by itself.
  let signal: Int32?
  /// True if glibc 2.41 or newer aborts inside itself in a thread that blocks a SIGABRT which was sent to it: a
  /// known limit.
  let isLostInNewGlibc: Bool

  private init(_ scene: String, endsBy signal: Int32? = nil, isLostInNewGlibc: Bool = false) {
    self.scene = scene
    self.signal = signal
    self.isLostInNewGlibc = isLostInNewGlibc
  }

  public var testDescription: String { scene }

  public static let all: [MaskPlay] = [
    MaskPlay("read-back"), MaskPlay("no-memory"), MaskPlay("siglongjmp"), MaskPlay("in-handler"),
    MaskPlay("threads"), MaskPlay("older-functions", endsBy: 11),
    MaskPlay("programs"), MaskPlay("pending"), MaskPlay("sigwait"), MaskPlay("signalfd"),
    MaskPlay("own-handler"), MaskPlay("signalfd-abort", endsBy: 6),
    MaskPlay("signalfd-double-free", endsBy: 6, isLostInNewGlibc: true),
    MaskPlay("abort-in-handler", endsBy: 6), MaskPlay("abort-under-own-mask", endsBy: 6),
    MaskPlay("unblocked", endsBy: 6),
    MaskPlay("ppoll", endsBy: 6), MaskPlay("other-thread", endsBy: 6),
  ]

  /// The differences between the two runs; empty if there are none.
  ///
  /// - Parameter root: the root in which they run; nil for this machine's own.
  public func failures(
    _ executable: String, in root: CatalogueRoot? = nil
  ) async throws -> [String] {
    let command = (root?.enter ?? []) + [executable]
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let alone = try await run(command, ["--no-handler"], in: directory)
    let handled = try await run(command, ["--database", database], in: directory)
    var failures: [String] = []
    if alone.standardOutput.isEmpty || alone.end.signal != signal {
      failures.append("alone: \(alone.end) \(alone.standardOutput)\(alone.standardError)")
    }
    if handled.end != alone.end {
      failures.append("\(handled.end), alone \(alone.end)\n\(handled.standardError)")
    }
    if handled.standardOutput != alone.standardOutput {
      failures.append("saw\n\(handled.standardOutput)alone\n\(alone.standardOutput)")
    }
    let dumps = try FileManager.default.contentsOfDirectory(
      atPath: database + "/" + PendingDumpName.directory
    ).filter { PendingDumpName(fileName: $0)?.role == .finished }
    let isLost = signal == nil || isLostInNewGlibc && (root != nil || Self.hasNewGlibc)
    if dumps.count != (isLost ? 0 : 1) { failures.append("dumps: \(dumps)") }
    return failures
  }

  /// True in a process with glibc 2.41 or newer.
  private static var hasNewGlibc: Bool {
    let numbers = CatalogueRoot.ownLibrary.split { $0 == " " || $0 == "." }.compactMap { Int($0) }
    return !numbers.lexicographicallyPrecedes([2, 41])
  }

  private func run(
    _ command: [String], _ options: [String], in directory: borrowing TemporaryDirectory
  ) async throws -> ChildProcess {
    try await ChildProcess.run(
      command[0], command.dropFirst() + ["masks", scene, "--no-summary"] + options,
      in: directory.path)
  }
}
