internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes Crashpad's own stream, with report ID, client ID, simple annotations and the annotations of modules.
  ///
  /// Source: Crashpad `minidump/minidump_extensions.h`.
  mutating func encodeCrashpadInfo() -> MinidumpLocation {
    var annotations = snapshot.annotations
    // Servers that accept Crashpad's minidumps look for annotations with these two names.
    for (name, value) in [
      (MinidumpFormat.productAnnotation, snapshot.process.product),
      (MinidumpFormat.versionAnnotation, snapshot.process.version),
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
    // The reserved field and the address mask are zero.
    buffer.appendZeros(4 + 8)
    return buffer.location(from: start)
  }

  /// Appends the strings of a MinidumpSimpleStringDictionary, then the dictionary.
  mutating func appendDictionary(_ entries: [String: String]) -> MinidumpLocation {
    guard !entries.isEmpty else { return .none }
    var places: [(key: UInt32, value: UInt32)] = []
    for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
      places.append((buffer.appendUTF8String(key), buffer.appendUTF8String(value)))
    }
    return buffer.appendList(places) { buffer, place in
      buffer.append(place.key)
      buffer.append(place.value)
    }
  }
}

extension MinidumpDecoder {
  /// Reads Crashpad's stream, which has 64 bytes or, from older versions of Crashpad, fewer.
  ///
  /// The stream refers to modules by their index in the module list. So the modules get their annotations only if
  /// `decodeModuleList` was called before.
  mutating func decodeCrashpadInfo() {
    guard let stream = file.streams[.crashpadInfo] else { return }
    let start = stream.lowerBound
    guard stream.count >= 36, file.integer(at: start, width: 4) != 0 else {
      file.note("the Crashpad stream is too short")
      return
    }
    snapshot.reportID = file.bytes.slice(start + 4..<start + 20).flatMap(ReportID.init(guidBytes:))
    snapshot.clientID = file.bytes.slice(start + 20..<start + 36).flatMap(ReportID.init(guidBytes:))
    if stream.count >= 44 {
      snapshot.launchAnnotations.merge(dictionary(at: start + 36)) { first, _ in first }
    }
    if stream.count >= 52 { decodeModuleAnnotations(at: start + 44) }
  }

  /// Reads the entries of a MinidumpSimpleStringDictionary, in the order of the file.
  mutating func dictionary(at location: Int) -> [(String, String)] {
    list(at: location, size: 8).compactMap { entry in
      guard let name = annotationText(at: entry), let value = annotationText(at: entry + 4) else {
        return nil
      }
      return (name, value)
    }
  }

  /// The file offsets of the entries of a list, which the location descriptor at `location` refers to.
  ///
  /// The list begins with a 32-bit count; entries of `size` bytes follow.
  func list(at location: Int, size: Int) -> [Int] {
    guard let list = file.location(at: location), list.count >= 4,
      let count = file.integer(at: list.lowerBound, width: 4)
    else { return [] }
    let fitting = min((list.count - 4) / size, MinidumpFile.maximumEntries)
    return (0..<Int(clamping: min(count, UInt64(fitting)))).map { list.lowerBound + 4 + $0 * size }
  }

  /// The text to which the RVA at an offset in the file refers.
  ///
  /// If the text is damaged, the result is nil, and the damage is recorded.
  mutating func annotationText(at place: Int) -> String? {
    guard let rva = file.integer(at: place, width: 4), let text = file.utf8String(at: rva) else {
      file.note("an annotation is damaged")
      return nil
    }
    return text
  }
}

extension ReportID {
  /// The bytes of the ID as a GUID structure, whose first three fields are little-endian.
  ///
  /// Source: Microsoft guiddef.h.
  var guidBytes: [UInt8] { Self.swapped(bytes) }

  /// Reads a GUID structure; nil if all bytes are zero, which means that there is no ID.
  init?(guidBytes: ArraySlice<UInt8>) {
    guard guidBytes.count == 16, guidBytes.contains(where: { $0 != 0 }) else { return nil }
    self.init(bytes: Self.swapped(Array(guidBytes)))
  }

  /// Converts the byte order of a GUID structure to the printed order, and back.
  private static func swapped(_ bytes: [UInt8]) -> [UInt8] {
    [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map { bytes[$0] }
  }
}
