/// The kind of an open file, by its link in `/proc/self/fd`; the values of the key `descriptorKind`.
public enum DescriptorKind: UInt8, DumpCode {
  /// Opened by a path, and none of the others; a file or a named pipe.
  case file = 1
  /// Opened as a directory.
  case directory = 2
  /// Below `/dev`.
  case device = 3
  case socket = 4
  /// Without a name.
  case pipe = 5
  /// Such as `eventfd` and `eventpoll`.
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

/// The way in which an image is known; the values of the key `moduleSource`.
public enum ModuleSource: UInt8, DumpCode {
  /// The kernel's auxiliary vector: it is the program.
  case program = 1
  /// The dynamic linker's list.
  case linker = 2
  /// The kernel's auxiliary vector: it is the vDSO.
  case kernel = 3
  /// Nothing but its ELF header, at the start of a mapping: of another namespace of the linker, or put there
  /// by other means.
  case headers = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}

/// The type of an annotation's bytes; the values of the key `annotationType`.
public enum AnnotationType: UInt8, DumpCode {
  case text = 1
  case signed = 2
  case unsigned = 3
  /// An IEEE 754 number of 64 bits.
  case double = 4
  /// 0 is false.
  case bool = 5

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String {
    switch self {
    case .text: "string"
    case .signed: "int"
    case .unsigned: "uint"
    case .double: "double"
    case .bool: "bool"
    }
  }
}

/// The state of an annotation's value that is not simply the last one; the values of the key `annotationState`.
public enum AnnotationState: UInt8, DumpCode {
  /// A newer one was being written when the process crashed; this is the one before.
  case beingReplaced = 1
  /// A newer one was given up, because several threads were in the middle of writing.
  case stale = 2
  /// There was one, but it changed faster than it could be read, or was written over.
  case unreadable = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String { self == .beingReplaced ? "being-replaced" : "\(self)" }
}
