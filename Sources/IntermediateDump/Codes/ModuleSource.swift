/// How an image was found; the values of the key `moduleSource`.
public enum ModuleSource: UInt8, DumpCode {
  /// The kernel's auxiliary vector: it is the program.
  case program = 1
  /// The dynamic linker's list.
  case linker = 2
  /// The kernel's auxiliary vector: it is the vDSO.
  case kernel = 3
  /// Only its ELF header at the start of a mapping: the image is in another namespace of the linker, or was loaded by
  /// other means.
  case headers = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
