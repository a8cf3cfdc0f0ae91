internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Crashpad's own stream: report ID, client ID and the simple annotations.
  ///
  /// Source: Crashpad `minidump/minidump_extensions.h`.
  mutating func encodeCrashpadInfo() -> MinidumpLocation {
    var annotations = snapshot.annotations
    // Servers that take Crashpad's dumps look for these two names.
    for (name, value) in [
      (ProcessSnapshot.productAnnotation, snapshot.process.product),
      (ProcessSnapshot.versionAnnotation, snapshot.process.version),
    ] where annotations[name] == nil { annotations[name] = value }
    let dictionary = appendDictionary(annotations)
    let modules = encodeModuleAnnotations()
    buffer.align(to: 4)
    let start = buffer.rva
    buffer.append(UInt32(1))
    buffer.append(snapshot.reportID?.guidBytes ?? Array(repeating: 0, count: 16))
    buffer.append(snapshot.clientID?.guidBytes ?? Array(repeating: 0, count: 16))
    buffer.append(dictionary)
    buffer.append(modules)
    // Reserved; no address mask.
    buffer.appendZeros(4 + 8)
    return MinidumpLocation(
      size: UInt32(truncatingIfNeeded: MinidumpFormat.crashpadInfoSize), rva: start)
  }

  /// MinidumpSimpleStringDictionary, its strings in front of it.
  mutating func appendDictionary(_ entries: [String: String]) -> MinidumpLocation {
    guard !entries.isEmpty else { return .none }
    var places: [(key: UInt32, value: UInt32)] = []
    for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
      places.append((buffer.appendUTF8String(key), buffer.appendUTF8String(value)))
    }
    buffer.align(to: 4)
    let start = buffer.count
    buffer.append(UInt32(truncatingIfNeeded: places.count))
    for place in places {
      buffer.append(place.key)
      buffer.append(place.value)
    }
    return MinidumpLocation(
      size: UInt32(truncatingIfNeeded: buffer.count - start), rva: UInt32(truncatingIfNeeded: start)
    )
  }
}
