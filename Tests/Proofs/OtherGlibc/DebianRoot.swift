import CrashCatalogue
import CrashTestSupport
import Foundation

/// The C library of another version of Debian, unpacked below `.build/other-glibc` and kept there.
struct DebianRoot {
  /// A package that the mirror no longer has.
  struct Gone: Error {
    let package: String
  }

  private struct Package {
    /// Below the mirror's directory.
    let path: String
    let digest: String

    var name: String { String(path.split(separator: "/").last ?? "") }
  }

  /// - Parameter name: of the version, as in `Packages.txt`.
  /// - Throws: `Gone`.
  static func made(_ name: String) async throws -> CatalogueRoot {
    let packages = try packages(of: name)
    let place = BuiltProducts.packageRoot + "/.build/other-glibc"
    // Another list is another root.
    let root = "\(place)/\(name)-\(packages.map { $0.digest.prefix(4) }.joined())"
    guard !FileManager.default.fileExists(atPath: root) else {
      return try CatalogueRoot(path: root)
    }
    let unfinished = root + ".unfinished"
    try? FileManager.default.removeItem(atPath: unfinished)
    try FileManager.default.createDirectory(
      atPath: unfinished, withIntermediateDirectories: true)
    for package in packages {
      let file = place + "/" + package.name
      try await download(package, to: file, in: place)
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

  private static func packages(of name: String) throws -> [Package] {
    let text = try String(
      contentsOfFile: BuiltProducts.packageRoot + "/Tests/Proofs/OtherGlibc/Packages.txt",
      encoding: .utf8)
    let packages = text.split(separator: "\n").compactMap { line -> Package? in
      let words = line.split(separator: " ")
      guard words.count == 3, words[0] == name else { return nil }
      return Package(path: String(words[1]), digest: String(words[2]))
    }
    guard packages.count == 3 else {
      throw OutsideToolError("\(packages.count) packages of \(name)")
    }
    return packages
  }

  /// By apt's own program, which compares the digest.
  private static func download(_ package: Package, to file: String, in place: String) async throws {
    let uri = "http://deb.debian.org/debian/" + package.path.replacing("+", with: "%2b")
    let run = try await ChildProcess.run(
      "/usr/lib/apt/apt-helper",
      ["-o", "APT::Sandbox::User=root", "download-file", uri, file, "SHA256:" + package.digest],
      in: place, patience: 300)
    if run.end.exitCode == 0 { return }
    if (run.standardOutput + run.standardError).contains("404") {
      throw Gone(package: package.name)
    }
    throw OutsideToolError("apt-helper: \(run)")
  }
}
