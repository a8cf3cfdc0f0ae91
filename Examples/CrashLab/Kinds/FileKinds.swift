internal import CCrashLab
internal import Glibc

// Accesses that raise SIGBUS: to a mapping past the end of its file, and to a misaligned address.

extension CrashKind {
  static var fileKinds: [CrashKind] {
    var kinds = [
      CrashKind("truncated-file") { crash_truncated_file() }
    ]
    #if arch(x86_64)
      kinds.append(
        CrashKind("misaligned") { crash_misaligned() })
    #endif
    return kinds
  }
}

@inline(never)
func crash_truncated_file() {
  guard let file = unsafe tmpfile() else { return }
  let descriptor = unsafe fileno(file)
  ftruncate(descriptor, 8192)
  let mapping = unsafe mmap(nil, 8192, PROT_READ, MAP_SHARED, descriptor, 0)
  ftruncate(descriptor, 0)
  let address = UInt(bitPattern: mapping)
  let value = unsafe place(at: address + 4096, of: UInt64.self).pointee
  print(value)
}
