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
