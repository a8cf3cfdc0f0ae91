internal import Glibc

/// Attaches a copy of a file, such as a log, to the reports from dumps of this process.
///
/// A report contains a copy of the file as it is when the report is created, which is usually when the program next
/// starts. A report contains at most the last 4 MiB of each file, and 16 MiB in all. A missing file is not an error;
/// the report mentions it. Only a regular file at exactly this path is copied, and a symbolic link in its place is not
/// followed.
///
/// This function takes no lock of its own, but may allocate memory. Any thread may call it, even before
/// `startHandler`. A forked child has its own list. If `HandlerOptions.privacy` is not `full`, nothing is attached.
///
/// - Parameter path: the file's path; a relative path is resolved now, from the current directory. The absolute path
///   may have at most 1,024 bytes.
/// - Returns: false if the path is empty, too long or contains a NUL, if the current directory is needed but not known,
///   or if there are already 16 other attachments. Reports state how often there was no room.
@discardableResult
public func addAttachment(path: String) -> Bool {
  guard let path = absolute(path) else { return false }
  return unsafe ClientText.withBytes(of: path, atMost: ClientMemory.pathCapacity) { bytes, count in
    unsafe ClientMemory.ofProcess.attachments.set(key: bytes, keyCount: count)
  }
}

/// Removes a path that was passed to `addAttachment`; does nothing for any other path.
public func removeAttachment(path: String) {
  guard let path = absolute(path) else { return }
  unsafe ClientText.withBytes(of: path, atMost: ClientMemory.pathCapacity) { bytes, count in
    unsafe ClientMemory.ofProcess.attachments.remove(key: bytes, keyCount: count)
  }
}

private func absolute(_ path: String) -> String? {
  guard !path.isEmpty, !path.utf8.contains(0) else { return nil }
  var whole = path
  if !path.hasPrefix("/") {
    guard let directory = unsafe getcwd(nil, 0) else { return nil }
    defer { unsafe free(directory) }
    whole = unsafe String(cString: directory) + "/" + path
  }
  return whole.utf8.count <= ClientMemory.pathCapacity ? whole : nil
}
