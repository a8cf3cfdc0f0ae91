/// How an ELF image was found; the values of the key `moduleSource`.
public enum ModuleSource: UInt8, DumpCode {
  /// The image is the program, found through the kernel's auxiliary vector.
  case program = 1
  /// The image is in the dynamic linker's list.
  case linker = 2
  /// The image is the vDSO, found through the kernel's auxiliary vector.
  case kernel = 3
  /// The image was found only because a mapping starts with its ELF header.
  ///
  /// Such an image is in another namespace of the dynamic linker, or was not loaded by the linker.
  case headers = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}

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

/// The type of an annotation's value; the values of the key `annotationType`.
public enum AnnotationType: UInt8, DumpCode {
  case text = 1
  case signed = 2
  case unsigned = 3
  /// A 64-bit IEEE 754 number.
  case double = 4
  /// A number that stands for a Boolean value; 0 means false, and any other number means true.
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

/// Why a dump may lack the value that an annotation was last set to; the values of the key `annotationState`.
public enum AnnotationState: UInt8, DumpCode {
  /// A newer value was being written when the process crashed; the dump contains the previous value.
  case beingReplaced = 1
  /// A newer value was dropped, because several threads were setting the annotation at the same time.
  case stale = 2
  /// The annotation had a value, but the value changed faster than it could be read, or other data overwrote it.
  case unreadable = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String { self == .beingReplaced ? "being-replaced" : "\(self)" }
}
