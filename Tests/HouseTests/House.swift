import CrashTestSupport
import Foundation

/// The files of this package as they lie on disk.
enum House {
  static let root = BuiltProducts.packageRoot

  /// The folders whose code runs in a crash.
  static let crashTimeFolders = [
    "Sources/CrashHandler/Signals", "Sources/CrashHandler/Threads", "Sources/CrashHandler/Capture",
    "Sources/CrashHandler/Summary", "Sources/CrashHandler/Client/Memory",
    "Sources/IntermediateDump/Writer",
  ]

  struct File {
    /// Relative to the package's root.
    let path: String
    let text: String

    /// Without folders and extension.
    var baseName: String {
      URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    }

    /// The folder below `Sources`, which is the module.
    var module: String { String(path.split(separator: "/")[1]) }
  }

  static func text(_ path: String) throws -> String {
    try String(contentsOfFile: root + "/" + path, encoding: .utf8)
  }

  /// All Swift files below a folder.
  static func swiftFiles(in folder: String) throws -> [File] {
    guard let names = FileManager.default.enumerator(atPath: root + "/" + folder) else { return [] }
    return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted()
      .map { File(path: folder + "/" + $0, text: try text(folder + "/" + $0)) }
  }
}
