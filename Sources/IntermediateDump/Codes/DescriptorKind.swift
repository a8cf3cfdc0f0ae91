/// The kind of an open file, by its link in `/proc/self/fd`; the values of the key `descriptorKind`.
public enum DescriptorKind: UInt8, DumpCode {
  /// A file or a named pipe: opened by a path, and none of the other kinds.
  case file = 1
  /// Opened as a directory.
  case directory = 2
  /// Below `/dev`.
  case device = 3
  case socket = 4
  /// Without a name.
  case pipe = 5
  /// For example `eventfd` and `eventpoll`.
  case anonymous = 6
  /// Made by memfd_create(2).
  case memory = 7
  case other = 8

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  /// True if the link is a path, which a deleted file has too.
  package var isNamed: Bool {
    @_noLocks get {
      switch self {
      case .file, .directory, .device, .memory: true
      case .socket, .pipe, .anonymous, .other: false
      }
    }
  }

  /// True if the link has nothing of the program's.
  package var hasKernelsName: Bool {
    @_noLocks get {
      switch self {
      case .socket, .pipe, .anonymous: true
      case .file, .directory, .device, .memory, .other: false
      }
    }
  }
}
