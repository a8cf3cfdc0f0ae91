internal import Foundation

/// A new folder that a suite of tests shares, removed with all it holds when the last of them is done.
public final class SharedFolder: Sendable {
  private let folder: TemporaryFolder

  /// - Parameter inMemory: as `TemporaryFolder` has it.
  public init(inMemory: Bool = false) throws {
    folder = try TemporaryFolder(inMemory: inMemory)
  }

  /// Absolute and without a trailing slash.
  public var path: String { folder.path }

  /// The sorted names in a folder below; none where there is no such folder.
  public func names(_ folder: String = "") -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path + "/" + folder)) ?? []).sorted()
  }

  /// The bytes of a file; nil where there is none.
  public func bytes(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path + "/" + name).map(Array.init)
  }

  public func put(_ bytes: [UInt8], _ name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
  }

  /// The permission bits; -1 where the file has none.
  public func permissions(_ name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
    return (attributes[.posixPermissions] as? Int) ?? -1
  }
}
