internal import Foundation
internal import Minidump
package import ProcessSnapshot

extension TemporaryDirectory {
  /// Writes a minidump and returns its path.
  package func write(_ snapshot: ProcessSnapshot, name: String = "test.dmp") throws -> String {
    let file = path + "/" + name
    let descriptor = unsafe open(file, O_RDWR | O_CREAT | O_EXCL, 0o600)
    guard descriptor >= 0 else { throw POSIXError(.EIO) }
    defer { close(descriptor) }
    try MinidumpWriter.write(snapshot, to: descriptor)
    return file
  }
}

/// The bytes that the writer makes of a snapshot.
package func minidumpBytes(of snapshot: ProcessSnapshot) throws -> [UInt8] {
  let directory = try TemporaryDirectory()
  let file = try directory.write(snapshot)
  return Array(try Data(contentsOf: URL(fileURLWithPath: file)))
}
