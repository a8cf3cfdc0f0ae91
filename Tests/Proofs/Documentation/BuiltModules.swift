import CrashTestSupport
import Foundation

/// The modules that were built with this program, for tools that read modules.
enum BuiltModules {
  /// The options with which `swiftc` and `swift symbolgraph-extract` find the modules and the C modules that they
  /// import.
  ///
  /// - Throws: an error if the directory of the build cannot be read.
  static func searchOptions() throws -> [String] {
    let build = try directory()
    let names = try FileManager.default.contentsOfDirectory(atPath: build)
    var options = ["-I", build + "/Modules"]
    for name in names.sorted() where name.hasSuffix(".build") {
      let map = "\(build)/\(name)/module.modulemap"
      guard FileManager.default.fileExists(atPath: map) else { continue }
      options += ["-Xcc", "-fmodule-map-file=" + map]
    }
    for name in try FileManager.default.contentsOfDirectory(
      atPath: BuiltProducts.packageRoot + "/Sources"
    ).sorted() {
      let headers = BuiltProducts.packageRoot + "/Sources/\(name)/include"
      if FileManager.default.fileExists(atPath: headers) { options += ["-I", headers] }
    }
    return options
  }

  /// The names of all modules of the package's sources.
  static let names: Set<String> = {
    let path = BuiltProducts.packageRoot + "/Sources"
    return Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
  }()

  private static func directory() throws -> String {
    URL(fileURLWithPath: try BuiltProducts.besideTests("proofs")).deletingLastPathComponent().path
  }
}
