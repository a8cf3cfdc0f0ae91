internal import Glibc
internal import IntermediateDump

/// The ranges of a running process's memory that may contain Swift tasks, and the ranges that contain code.
///
/// Not crash code. Source: proc_pid_maps(5).
struct LiveMaps {
  /// Reading a file in `/proc` ends with the read that reaches this number of bytes; that read may return up to 64 KiB
  /// more.
  private static let textLimit = 16 << 20

  /// The private, anonymous, writable ranges, which are searched for tasks.
  ///
  /// The smallest ranges come first, because a heap usually consists of small ranges.
  let searched: [Range<UInt64>]
  /// Executable ranges, sorted by address.
  let code: [Range<UInt64>]

  /// The directory of the process in `/proc`.
  private let directory: String

  /// Reads the mappings; nil if the file cannot be read.
  ///
  /// - Parameter process: the process's ID; 0 for this process.
  init?(of process: Int32) {
    directory = process == 0 ? "/proc/self" : "/proc/\(process)"
    guard let text = Self.text(of: directory + "/maps") else { return nil }
    var (searched, code): ([Range<UInt64>], [Range<UInt64>]) = ([], [])
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let words = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
      let ends = words[0].split(separator: UInt8(ascii: "-")).compactMap(Self.number)
      guard words.count >= 5, ends.count == 2, ends[0] < ends[1], words[1].count == 4 else {
        continue
      }
      let range = ends[0]..<ends[1]
      let rights = Array(words[1])
      if rights[2] == UInt8(ascii: "x") { code.append(range) }
      // The name and the inode exclude ranges that contain no heap: the main thread's stack and the kernel's own ranges
      // have other names, and a mapping of a file has an inode that is not 0.
      let name = words.count > 5 ? words[5].drop { $0 == UInt8(ascii: " ") } : []
      if rights == Array("rw-p".utf8), words[4] == [UInt8(ascii: "0")],
        name.isEmpty || name.starts(with: "[heap]".utf8) || name.starts(with: "[anon".utf8)
      {
        searched.append(range)
      }
    }
    self.searched = searched.sorted { ($0.count, $0.lowerBound) < ($1.count, $1.lowerBound) }
    self.code = code
  }

  func isCode(_ address: UInt64) -> Bool {
    var (low, high) = (0, code.count)
    while low < high {
      let middle = (low + high) / 2
      if code[middle].upperBound <= address { low = middle + 1 } else { high = middle }
    }
    return low < code.count && code[low].contains(address)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    UInt64(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  /// The number of bytes of anonymous memory that are resident (not in swap); 0 if the number is not known.
  var residentBytes: UInt64 {
    let words = (Self.text(of: directory + "/statm") ?? []).split(separator: UInt8(ascii: " "))
    let pages = words.compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
    guard pages.count > 2 else { return 0 }
    return pages[1].clampedSubtracting(pages[2]) * UInt64(max(0, sysconf(Int32(_SC_PAGESIZE))))
  }

  private static func text(of path: String) -> [UInt8]? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var text: [UInt8] = []
    while text.count < textLimit {
      let part = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
        count = unsafe max(0, read(file, buffer.baseAddress, buffer.count))
      }
      guard !part.isEmpty else { break }
      text += part
    }
    return text.isEmpty ? nil : text
  }
}
