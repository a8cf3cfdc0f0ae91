internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpDecoder {
  /// Crashpad's stream: its 64 bytes, or the shorter forms of earlier versions.
  ///
  /// Annotations of the modules count too, for a Crashpad client keeps nearly all there; the process's own come first.
  mutating func decodeCrashpadInfo() {
    guard let stream = file.streams[.crashpadInfo] else { return }
    let start = stream.lowerBound
    guard stream.count >= 36, file.integer(at: start, width: 4) != 0 else {
      file.note("the Crashpad stream is too short")
      return
    }
    snapshot.reportID = ReportID(guidBytes: file.bytes[start + 4..<start + 20])
    snapshot.clientID = ReportID(guidBytes: file.bytes[start + 20..<start + 36])
    if stream.count >= 44 { addDictionary(at: start + 36) }
    guard stream.count >= 52, let list = file.location(at: start + 44), list.count >= 4,
      let count = file.integer(at: list.lowerBound, width: 4)
    else { return }
    for index in 0..<Int(min(count, UInt64((list.count - 4) / 12))) {
      guard let module = file.location(at: list.lowerBound + 4 + index * 12 + 4) else { continue }
      if module.count >= 20 { addDictionary(at: module.lowerBound + 12) }
      if module.count >= 28 { addObjects(at: module.lowerBound + 20) }
    }
  }

  /// MinidumpSimpleStringDictionary.
  private mutating func addDictionary(at location: Int) {
    guard let list = file.location(at: location), list.count >= 4,
      let count = file.integer(at: list.lowerBound, width: 4)
    else { return }
    for index in 0..<Int(min(count, UInt64((list.count - 4) / 8))) {
      let entry = list.lowerBound + 4 + index * 8
      add(keyAt: entry, valueAt: entry + 4)
    }
  }

  /// MinidumpAnnotationList: of its objects, those of type 1, which are text.
  private mutating func addObjects(at location: Int) {
    guard let list = file.location(at: location), list.count >= 4,
      let count = file.integer(at: list.lowerBound, width: 4)
    else { return }
    for index in 0..<Int(min(count, UInt64((list.count - 4) / 12))) {
      let entry = list.lowerBound + 4 + index * 12
      if file.integer(at: entry + 4, width: 2) == 1 { add(keyAt: entry, valueAt: entry + 8) }
    }
  }

  private mutating func add(keyAt key: Int, valueAt value: Int) {
    guard let keyRVA = file.integer(at: key, width: 4), let name = file.utf8String(at: keyRVA),
      let valueRVA = file.integer(at: value, width: 4), let text = file.utf8String(at: valueRVA)
    else {
      file.note("an annotation is damaged")
      return
    }
    if snapshot.annotations[name] == nil { snapshot.annotations[name] = text }
  }
}
