internal import Glibc

/// Writes one line to standard output, in one write: the process may be killed before it flushes
/// anything, and several processes may share the output.
func say(_ line: some CustomStringConvertible) {
  put(line.description + "\n", STDOUT_FILENO)
}

func standardError(_ text: String) { put(text, STDERR_FILENO) }

private func put(_ text: String, _ descriptor: Int32) {
  var text = text
  text.withUTF8 { bytes in _ = unsafe write(descriptor, bytes.baseAddress, bytes.count) }
}
