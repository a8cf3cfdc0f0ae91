internal import CSignalSafe

extension Capture {
  /// Reads the number in a cgroup file that was opened when the handler was installed.
  ///
  /// The result is nil if the file shows no limit, or if the file cannot be read.
  @_noLocks
  func number(in file: HeldFile) -> UInt64? {
    var text = text(of: file, capacity: 64)
    guard text.current >= 0x30, text.current <= 0x39 else { return nil }
    let value = text.decimal()
    // In version 1 of cgroups, the largest multiple of the page size below 2^63 means "no limit", so numbers from 2^62
    // on count as no limit.
    return value < 1 &<< 62 ? value : nil
  }

  /// Returns how many bytes of the cgroup's memory are cached files, which the kernel can free.
  @_noLocks
  func cache(in file: HeldFile) -> UInt64 {
    var text = text(of: file, capacity: session.scratch.size)
    let inactive = text.find("inactive_file") ? text.decimal() : 0
    return text.find("active_file") ? inactive &+ text.decimal() : inactive
  }

  private func text(of file: HeldFile, capacity: Int) -> TextScanner {
    let scratch = session.scratch
    guard mayMake(CallBit.proc), isSame(file) else { return scratch.text(count: 0) }
    let count = unsafe pm_pread(file.descriptor, scratch.address, capacity, 0)
    return scratch.text(count: count > 0 ? count : 0)
  }
}
