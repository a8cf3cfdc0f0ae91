/// An open ELF file that several readers share; closed when the last of them lets go.
final class ELFImage {
  let path: String
  let elf: ELFFile

  init(path: String) throws(StackwalkError) {
    self.path = path
    elf = try ELFFile(path: path)
  }
}
