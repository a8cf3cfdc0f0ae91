internal import CrashReportDatabase
internal import FoundationEssentials
internal import Glibc

/// A file named on the command line, to which output is written.
enum OutputFile {
  /// Writes a text to a file in the same way as `replace`.
  static func write(_ text: String, to path: String) throws(ToolError) {
    try replace(path) { descriptor throws(ToolError) in
      try Output.write(Array(text.utf8)[...], to: descriptor, named: path)
    }
  }

  /// Writes a new file, which then replaces the regular file at the path, or the one that a link at the path leads to.
  ///
  /// The new file has the permissions of the old one and, if this user may set them, its owner and group. If there is
  /// something else at the path, such as a terminal or a FIFO, the bytes are written into that. A name such as
  /// /dev/stdout means the open file.
  ///
  /// - Parameter contents: writes the bytes to its argument, a descriptor. `contents` can also read from the descriptor
  ///   of a new file.
  static func replace(
    _ path: String, with contents: (Int32) throws(ToolError) -> Void
  ) throws(ToolError) {
    if let descriptor = openDescriptor(path) { return try contents(descriptor) }
    // The kernel follows links, and does not follow those that fs.protected_symlinks forbids.
    let old = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
    let failure = errno
    defer { if old >= 0 { close(old) } }
    guard old >= 0 || (failure == ENOENT && !isLink(path)) else {
      throw ToolError(path: path, ToolError.text(failure))
    }
    var status: stat?
    if old >= 0 {
      var found = stat()
      guard unsafe fstat(old, &found) == 0 else {
        throw ToolError(path: path, ToolError.text(errno))
      }
      guard found.st_mode & S_IFMT == S_IFREG else {
        try contents(old)
        return try Output.flush(old, named: path)
      }
      status = found
    }
    let target = isLink(path) ? try linked(old, path) : path
    var new = try NewFile(for: target, named: path)
    if let status { new.adopt(status) }
    try contents(new.descriptor)
    try new.publish()
  }

  /// The descriptor that a name stands for; nil for the names of files.
  ///
  /// If the name were opened as a path, a regular file would be opened again, and what others wrote to the descriptor
  /// would be overwritten.
  private static func openDescriptor(_ path: String) -> Int32? {
    switch path {
    case "/dev/stdout": return STDOUT_FILENO
    case "/dev/stderr": return STDERR_FILENO
    default:
      for directory in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(directory) {
        return Int32(path.dropFirst(directory.count))
      }
      return nil
    }
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// The path of an open file.
  private static func linked(_ descriptor: Int32, _ path: String) throws(ToolError) -> String {
    do {
      return try FileManager.default.destinationOfSymbolicLink(
        atPath: "/proc/thread-self/fd/\(descriptor)")
    } catch {
      throw ToolError(path: path, "cannot follow the link without /proc")
    }
  }
}

/// A file without a name, which gets its name when it is complete.
///
/// The kernel removes the file if this process ends before that. On file systems that have no files without a name,
/// such as NFS, the file has a temporary name, which a killed process leaves behind.
private struct NewFile: ~Copyable {
  let descriptor: Int32
  /// The path at the end, and the one that errors show.
  private let target, shownPath: String
  private let temporary: String
  private var isNamed: Bool

  /// O_TMPFILE, which Swift does not import.
  ///
  /// Source: open(2); Linux, include/uapi/asm-generic/fcntl.h.
  private static let unnamed = 0o20_000_000 | O_DIRECTORY

  init(for target: String, named path: String) throws(ToolError) {
    let end = target.lastIndex(of: "/")
    let directory = end.map { String(target[...$0]) } ?? "./"
    let number = String(UInt64.random(in: .min ... .max), radix: 16)
    temporary = "\(directory).postmortem-\(number).tmp"
    (self.target, shownPath) = (target, path)
    var descriptor = unsafe open(directory, Self.unnamed | O_RDWR | O_CLOEXEC, 0o666)
    // Without /proc, a file cannot get a name later.
    if descriptor >= 0, !InputFile.exists("/proc/thread-self/fd/\(descriptor)") {
      close(descriptor)
      descriptor = -1
    }
    isNamed = descriptor < 0
    if isNamed {
      descriptor = unsafe open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    }
    self.descriptor = descriptor
    guard descriptor >= 0 else {
      isNamed = false
      throw ToolError(path: path, ToolError.text(errno))
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
    if isNamed { unsafe unlink(temporary) }
  }

  /// Takes over permissions, owner and group of an older file; if the group cannot be set, another group gets no
  /// permissions.
  func adopt(_ status: stat) {
    fchown(descriptor, status.st_uid, uid_t.max)
    let hasGroup = fchown(descriptor, uid_t.max, status.st_gid) == 0
    fchmod(descriptor, status.st_mode & (hasGroup ? 0o777 : 0o707))
  }

  /// Gives the file its name.
  mutating func publish() throws(ToolError) {
    try Output.flush(descriptor, named: shownPath)
    if !isNamed {
      let open = "/proc/thread-self/fd/\(descriptor)"
      guard unsafe linkat(AT_FDCWD, open, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0 else {
        throw ToolError(path: shownPath, ToolError.text(errno))
      }
      isNamed = true
    }
    guard unsafe rename(temporary, target) == 0 else {
      throw ToolError(path: shownPath, ToolError.text(errno))
    }
    isNamed = false
  }
}
