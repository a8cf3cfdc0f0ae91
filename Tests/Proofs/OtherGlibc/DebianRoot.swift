import CrashCatalogue
import CrashTestSupport
import Foundation

/// The C library of another version of Debian, unpacked below `.build/other-glibc` and kept there.
struct DebianRoot {
  /// Unpacks a version, once.
  ///
  /// - Parameter name: the version's name in `Packages.txt`.
  ///
  /// - Throws: `DebianPackage.Missing`.
  static func made(_ name: String) async throws -> CatalogueRoot {
    let packages = try DebianPackage.all(of: name, in: "OtherGlibc/Packages.txt")
    guard packages.count == 3 else {
      throw OutsideToolError("\(packages.count) packages of \(name)")
    }
    let place = BuiltProducts.packageRoot + "/.build/other-glibc"
    // Another list of packages gets another directory.
    let root = "\(place)/\(name)-\(DebianPackage.mark(of: packages))"
    guard !FileManager.default.fileExists(atPath: root) else {
      return try CatalogueRoot(path: root)
    }
    let unfinished = root + ".unfinished"
    try? FileManager.default.removeItem(atPath: unfinished)
    try FileManager.default.createDirectory(
      atPath: unfinished, withIntermediateDirectories: true)
    for package in packages {
      let file = place + "/" + package.name
      try await package.download(to: file, in: place)
      let unpacked = try await ChildProcess.run(
        "/usr/bin/dpkg-deb", ["-x", file, unfinished], in: place)
      guard unpacked.end.exitCode == 0 else { throw OutsideToolError("\(unpacked)") }
      try FileManager.default.removeItem(atPath: file)
    }
    for link in ["lib", "lib64"]
    where !FileManager.default.fileExists(atPath: "\(unfinished)/\(link)") {
      try FileManager.default.createSymbolicLink(
        atPath: "\(unfinished)/\(link)", withDestinationPath: "usr/\(link)")
    }
    try FileManager.default.moveItem(atPath: unfinished, toPath: root)
    return try CatalogueRoot(path: root)
  }
}
