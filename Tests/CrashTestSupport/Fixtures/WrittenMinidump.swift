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

/// A dump with every stream, small enough to run a test for each byte.
package func smallMinidump() throws -> [UInt8] {
  var snapshot = SyntheticProcess.snapshot()
  snapshot.threads = [snapshot.threads[0], snapshot.threads[2]]
  for index in snapshot.threads.indices {
    if case .x86_64(var context)? = snapshot.threads[index].context {
      context.floatingPointState = Array(context.floatingPointState.prefix(576))
      snapshot.threads[index].context = .x86_64(context)
    }
    snapshot.threads[index].stack = snapshot.threads[index].stack.map {
      MemoryRegion(address: $0.address, bytes: Array($0.bytes.prefix(48)))
    }
  }
  snapshot.exception?.context = snapshot.threads[0].context
  snapshot.memory = MemorySnapshot(joining: snapshot.threads.flatMap(\.stack))
  return try minidumpBytes(of: snapshot)
}
