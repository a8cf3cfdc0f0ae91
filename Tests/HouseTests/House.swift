import CrashTestSupport
import Foundation

/// The files of this package on disk.
enum House {
  static let root = BuiltProducts.packageRoot

  /// The directories whose code runs in a crash.
  static let crashTimeDirectories = [
    "Sources/CrashHandler/Signals", "Sources/CrashHandler/Capture", "Sources/CrashHandler/Summary",
    "Sources/CrashHandler/Stopping", "Sources/CrashHandler/System", "Sources/CrashHandler/State",
    "Sources/CrashHandler/Values", "Sources/IntermediateDump/Writer",
    "Sources/IntermediateDump/Objects",
  ]

  struct File {
    /// The path relative to the package's root.
    let path: String
    let text: String

    /// The file's name without directories and extension.
    var baseName: String {
      URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    }

    /// The module, which is the directory below `Sources`; below `PostmortemStub`, the module that the stub
    /// replaces.
    var module: String {
      let parts = path.split(separator: "/")
      return String(parts[isStub ? 2 : 1])
    }
    var isStub: Bool { path.hasPrefix("Sources/PostmortemStub/") }
  }

  static func text(_ path: String) throws -> String {
    try String(contentsOfFile: root + "/" + path, encoding: .utf8)
  }

  /// All Swift files below a directory.
  static func swiftFiles(in directory: String) throws -> [File] {
    guard let names = FileManager.default.enumerator(atPath: root + "/" + directory) else {
      return []
    }
    return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted()
      .map { File(path: directory + "/" + $0, text: try text(directory + "/" + $0)) }
  }
}
