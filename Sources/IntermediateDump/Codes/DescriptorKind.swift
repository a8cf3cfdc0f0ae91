/// The kind of an open file, according to the text of its link in `/proc` and its open flags; the values of the key
/// `descriptorKind`.
public enum DescriptorKind: UInt8, DumpCode {
  /// A file or a named pipe that was opened by its path and is none of the other kinds.
  case file = 1
  /// A directory that was opened with O_DIRECTORY.
  case directory = 2
  /// A file below `/dev`, except below `/dev/shm`.
  case device = 3
  case socket = 4
  /// A pipe without a name.
  case pipe = 5
  /// An object without a path, to which the kernel gives only a name such as `eventfd` or `eventpoll`.
  case anonymous = 6
  /// A file that memfd_create(2) created.
  case memory = 7
  case other = 8

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  /// True if the descriptor's link in `/proc` contains only text from the kernel, and none that the program chose.
  package var hasKernelsName: Bool {
    @_noLocks get {
      switch self {
      case .socket, .pipe, .anonymous: true
      case .file, .directory, .device, .memory, .other: false
      }
    }
  }
}
