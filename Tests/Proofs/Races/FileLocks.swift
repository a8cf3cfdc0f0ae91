import CrashTestSupport
import Foundation
import Glibc

/// Kernel file locks on anything in a directory, from `/proc/locks`.
///
/// Source: proc_locks(5): the sixth field is major:minor:inode.
enum FileLocks {
  static func lines(naming directory: String) throws -> [String] {
    var own: Set<String> = []
    for name in FileManager.default.subpaths(atPath: directory) ?? [] {
      var status = stat()
      guard unsafe lstat(directory + "/" + name, &status) == 0 else { continue }
      let device = status.st_dev
      let (major, minor) = (device >> 8 & 0xFFF, device & 0xFF | device >> 12 & 0xFFF00)
      func hexadecimal(_ number: some BinaryInteger) -> String {
        let text = String(number, radix: 16)
        return text.count < 2 ? "0" + text : text
      }
      own.insert("\(hexadecimal(major)):\(hexadecimal(minor)):\(status.st_ino)")
    }
    return try KernelFile.text("/proc/locks").split(separator: "\n")
      .map(String.init)
      .filter { line in line.split(separator: " ").contains { own.contains(String($0)) } }
  }
}
