internal import Glibc

/// Prints the users, groups and capabilities of this thread, and whether the process would leave a core
/// file.
func printIdentity() {
  var text = "identity"
  if let file = unsafe fopen("/proc/thread-self/status", "r") {
    var line = [CChar](repeating: 0, count: 4096)
    while unsafe fgets(&line, Int32(line.count), file) != nil {
      let words = String(
        decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self
      )
      .split(whereSeparator: \.isWhitespace)
      guard let name = words.first, ["Uid:", "Gid:", "Groups:", "CapEff:"].contains(name) else {
        continue
      }
      text += " " + words.joined(separator: " ")
    }
    unsafe fclose(file)
  }
  // prctl(2), which Swift does not import: PR_GET_DUMPABLE.
  typealias Call = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
  let prctl = unsafe unsafeBitCast(dlsym(nil, "prctl"), to: Call.self)
  print("\(text) dumpable \(prctl(3, 0, 0, 0, 0))")
}
