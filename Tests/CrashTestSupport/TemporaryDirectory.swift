internal import Foundation

/// A new directory; deinit removes it with its contents.
public struct TemporaryDirectory: ~Copyable, Sendable {
  /// The absolute path, without a trailing slash.
  public let path: String

  /// - Parameter inMemory: true to use `/dev/shm` if it exists, for a test that would otherwise wait for the disk
  ///   a thousand times.
  public init(inMemory: Bool = false) throws {
    let isThere = inMemory && FileManager.default.isWritableFile(atPath: "/dev/shm")
    let place = isThere ? "/dev/shm" : NSTemporaryDirectory()
    let parent = URL(fileURLWithPath: place).resolvingSymlinksInPath().path
    path = parent + "/postmortem-test-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    // A test may have removed the permissions.
    unsafe chmod(path, 0o700)
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Makes a subdirectory and returns its path.
  public func subdirectory(_ name: String) throws -> String {
    let path = path + "/" + name
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }
}

/// A system call that failed.
public struct SystemCallError: Error, CustomStringConvertible {
  public let call: String
  public let number: Int32

  public init(_ call: String, _ number: Int32) {
    self.call = call
    self.number = number
  }

  public var description: String { unsafe "\(call): \(String(cString: strerror(number)))" }
}
