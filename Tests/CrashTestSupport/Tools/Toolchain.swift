internal import Foundation

/// The toolchain whose `swift` is in PATH.
public enum Toolchain {
  /// The path of one of the toolchain's programs.
  ///
  /// - Throws: `OutsideToolError` if it is not in the directory of `swift`.
  public static func path(of tool: String) throws -> String {
    let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    for directory in directories {
      let swift = "\(directory)/swift"
      guard FileManager.default.isExecutableFile(atPath: swift) else { continue }
      let resolved = URL(filePath: swift).resolvingSymlinksInPath().deletingLastPathComponent()
      let path = resolved.path + "/" + tool
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw OutsideToolError("\(tool) is not beside the swift that is in PATH")
  }
}
