internal import CSignalSafe
internal import IntermediateDump

extension DescriptorKind {
  /// The kind of an open file, according to the text of its link in `/proc/thread-self/fd`.
  ///
  /// RUNS-DURING-CRASH. Source: proc_pid_fd(5); Linux fs/d_path.c.
  ///
  /// - Parameter descriptor: the file's descriptor, whose flags show whether the file is a directory.
  @_noLocks
  init(_ link: Bytes, of descriptor: Int32) {
    let text = link.text
    if text.matches("/memfd:") {
      self = .memory
    } else if text.current == 0x2F {
      let flags = pm_open_flags(descriptor)
      if flags >= 0, flags & Int(O_DIRECTORY) != 0 {
        self = .directory
      } else {
        self = text.matches("/dev/") && !text.matches("/dev/shm/") ? .device : .file
      }
    } else if text.matches("socket:[") {
      self = .socket
    } else if text.matches("pipe:[") {
      self = .pipe
    } else {
      self = text.matches("anon_inode:") ? .anonymous : .other
    }
  }
}
