internal import Foundation

/// This program, to be run again.
enum OwnProgram {
  /// The path that it was started from, so that the other process has its name; the link itself if
  /// that is gone.
  static var path: String {
    let link = "/proc/self/exe"
    guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
      InputFile.exists(path)
    else { return link }
    return path
  }

  /// The environment without Swift's backtracer.
  static var quietEnvironment: [String: String] {
    var environment = ProcessInfo.processInfo.environment
    environment["SWIFT_BACKTRACE"] = "enable=no"
    return environment
  }
}
