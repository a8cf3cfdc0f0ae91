import CrashTestSupport
import Foundation

/// A Debian package from a committed list, so that each run uses the same version.
struct DebianPackage {
  /// A package that the mirror no longer has, or that cannot be downloaded now.
  struct Missing: Error, CustomStringConvertible {
    let package: String
    let isGone: Bool

    var description: String {
      isGone
        ? "\(package) is no longer at the mirror: renew Packages.txt"
        : "\(package) could not be downloaded"
    }
  }

  /// The path below the mirror's directory.
  let path: String
  let digest: String

  var name: String { String(path.split(separator: "/").last ?? "") }

  /// Reads the packages of one name from a list, whose lines are a name, a path and a digest.
  ///
  /// - Parameter list: a path below `Tests/Proofs`.
  static func all(of name: String, in list: String) throws -> [DebianPackage] {
    let text = try String(
      contentsOfFile: BuiltProducts.packageRoot + "/Tests/Proofs/" + list, encoding: .utf8)
    return text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, words[0] == name else { return nil }
      return DebianPackage(path: String(words[1]), digest: String(words[2]))
    }
  }

  /// Returns a text that differs for lists with different packages.
  static func mark(of packages: [DebianPackage]) -> String {
    packages.map { $0.digest.prefix(4) }.joined()
  }

  /// Downloads the package with apt's helper program, which verifies the digest.
  ///
  /// - Throws: `Missing` if it cannot be downloaded; another error for a file with another digest.
  func download(to file: String, in place: String) async throws {
    let uri = Self.mirror + "/" + path.replacing("+", with: "%2b")
    let run = try await ChildProcess.run(
      "/usr/lib/apt/apt-helper",
      ["-o", "APT::Sandbox::User=root", "download-file", uri, file, "SHA256:" + digest],
      in: place, patience: 300)
    if run.end.exitCode == 0 { return }
    let text = run.standardOutput + run.standardError
    // apt prints "Hash Sum mismatch".
    guard run.end.exitCode != nil, !text.contains("mismatch") else {
      throw OutsideToolError("apt-helper: \(run)")
    }
    throw Missing(package: name, isGone: text.contains("404"))
  }

  /// The package source that this machine uses, else Debian's.
  private static let mirror: String = {
    let directory = "/etc/apt/sources.list.d"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    for name in names.sorted() where name.hasSuffix(".sources") {
      let text = (try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)) ?? ""
      if let found = text.firstMatch(of: /(?m)^URIs:\s*(\S+\/debian)\/?\s*$/) {
        return String(found.1)
      }
    }
    return "http://deb.debian.org/debian"
  }()
}
