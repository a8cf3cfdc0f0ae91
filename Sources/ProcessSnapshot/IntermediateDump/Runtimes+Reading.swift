internal import IntermediateDump

// What the runtimes of Swift concurrency and of C++ knew of the crash.

extension TaskSnapshot {
  /// Reads a `task` map; nil without its thread or address.
  init?(reading map: IntermediateDumpMap) {
    guard let threadID = map.unsigned32(.taskThreadID), let address = map.address(.taskAddress)
    else { return nil }
    self.init(
      threadID: threadID, address: address,
      layoutVersion: map.unsigned32(.taskLayoutVersion) ?? 0)
  }

  /// Writes the same map.
  func encode(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.task)
    writer.optional(.taskThreadID, threadID)
    writer.address(.taskAddress, address)
    writer.optional(.taskLayoutVersion, layoutVersion)
    writer.end()
  }
}

extension CxxException {
  /// Reads a `cxxException` map.
  init(reading map: IntermediateDumpMap) {
    self.init(typeName: map.text(.cxxTypeName), message: map.text(.cxxMessage))
  }

  /// Writes the same map.
  func encode(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.cxxException)
    writer.text(.cxxTypeName, typeName)
    writer.text(.cxxMessage, message)
    writer.end()
  }
}

extension ProcessSnapshot {
  /// Takes both from a dump's root map, where it has them.
  mutating func overlayRuntimes(_ root: IntermediateDumpMap) {
    cxxException = root.map(.cxxException).map { CxxException(reading: $0) } ?? cxxException
    let found = root.elements(.tasks).compactMap { TaskSnapshot(reading: $0) }
    if !found.isEmpty { tasks = found }
  }

  func encodeRuntimes(to writer: inout IntermediateDumpWriter) {
    cxxException?.encode(to: &writer)
    guard !tasks.isEmpty else { return }
    writer.startArray(.tasks)
    for task in tasks { task.encode(to: &writer) }
    writer.end()
  }
}
