internal import CrashTestSupport
internal import Foundation
internal import Glibc

/// A root directory with another system's libraries, in which crash-lab runs as on that system.
///
/// This machine's `/proc`, `/dev`, temporary files and the package are mounted in it, at their own paths. Needs
/// root.
public struct CatalogueRoot: Sendable {
  public let path: String

  /// - Parameter path: the path of a directory with such libraries; directories for the mounts are added.
  public init(path: String) throws {
    self.path = path
    for directory in Self.mounts {
      try FileManager.default.createDirectory(
        atPath: path + directory, withIntermediateDirectories: true)
    }
  }

  private static var mounts: [String] {
    let temporary = URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path
    return ["/proc", "/dev", temporary, BuiltProducts.packageRoot] + swiftLibraries
  }

  /// The directory of Swift's shared libraries; a program that links them looks for them at this path.
  private static let swiftLibraries: [String] = {
    let maps = (try? KernelFile.text("/proc/self/maps")) ?? ""
    let line = maps.split(separator: "\n").first { $0.hasSuffix("/libswiftCore.so") }
    guard let path = line?.split(separator: " ").last else { return [] }
    return [URL(fileURLWithPath: String(path)).deletingLastPathComponent().path]
  }()

  /// The words before a command that run it in this root, in the same process and working directory.
  public var enter: [String] {
    let script = Self.mounts.map { "mount --rbind '\($0)' '\(path)\($0)' && " }.joined()
    return [
      "/usr/bin/unshare", "--mount", "/bin/sh", "-c",
      script + "exec /usr/bin/unshare --root='\(path)' --wd=\"$PWD\" -- \"$@\"", "sh",
    ]
  }

  /// The words before a command that run it with this root's C library and all other files of this machine.
  public var underThisMachine: [String] {
    let place = "/usr/lib/x86_64-linux-gnu"
    return [
      "/usr/bin/unshare", "--mount", "/bin/sh", "-c",
      "mount -t overlay overlay -o 'lowerdir=\(libraries):\(place)' \(place) && exec \"$@\"", "sh",
    ]
  }

  /// The C library of this process, such as `glibc 2.36`.
  public static var ownLibrary: String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      guard let start = text.baseAddress else { return "" }
      let size = unsafe confstr(Int32(_CS_GNU_LIBC_VERSION), start, text.count)
      return size > 0 ? unsafe String(cString: start) : ""
    }
  }

  /// The directory of the root's libraries, as this machine sees it.
  var libraries: String { path + "/usr/lib/x86_64-linux-gnu" }
}
