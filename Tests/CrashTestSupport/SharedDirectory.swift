internal import Foundation
internal import Synchronization

/// A new directory for a suite of tests.
///
/// It is removed with its contents when the last of them ends, at the latest when the process exits.
public final class SharedDirectory: Sendable {
  private let directory: TemporaryDirectory

  /// - Parameter inMemory: see `TemporaryDirectory`.
  public init(inMemory: Bool = false) throws {
    directory = try TemporaryDirectory(inMemory: inMemory)
    Self.remaining.withLock { paths in
      if paths.isEmpty { Self.removeAtExit() }
      paths.append(directory.path)
    }
  }

  /// The directories of this process, including removed ones.
  private static let remaining = Mutex<[String]>([])

  /// Removes the directories when the process exits: the value of a static constant, which several tests share,
  /// is never released.
  private static func removeAtExit() {
    atexit {
      for path in SharedDirectory.remaining.withLock({ $0 }) {
        try? FileManager.default.removeItem(atPath: path)
      }
    }
  }

  /// The absolute path, without a trailing slash.
  public var path: String { directory.path }

  /// The sorted names in a subdirectory; empty if it does not exist.
  public func names(_ directory: String = "") -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path + "/" + directory)) ?? []).sorted()
  }

  /// The bytes of a file; nil if it does not exist.
  public func bytes(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path + "/" + name).map(Array.init)
  }

  public func put(_ bytes: [UInt8], _ name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
  }

  /// The permission bits of a file; -1 if they cannot be read.
  public func permissions(_ name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
    return (attributes[.posixPermissions] as? Int) ?? -1
  }
}
