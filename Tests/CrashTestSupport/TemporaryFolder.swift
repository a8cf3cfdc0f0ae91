internal import Foundation

/// A new folder that is removed with everything in it when the value goes.
public struct TemporaryFolder: ~Copyable, Sendable {
  /// Absolute and without a trailing slash.
  public let path: String

  public init() throws {
    let parent = URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path
    path = parent + "/postmortem-test-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    // A test may have taken the permissions away.
    unsafe chmod(path, 0o700)
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Makes a folder in it and gives back its path.
  public func subfolder(_ name: String) throws -> String {
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
