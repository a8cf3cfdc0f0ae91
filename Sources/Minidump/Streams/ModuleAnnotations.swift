internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Encodes MinidumpModuleCrashpadInfoList: the annotations of modules, by the module's index in the module list.
  ///
  /// Source: Crashpad `minidump/minidump_extensions.h`.
  mutating func encodeModuleAnnotations() -> MinidumpLocation {
    var links: [(index: Int, location: MinidumpLocation)] = []
    for (index, module) in modules.enumerated() where !module.annotations.isEmpty {
      links.append((index, encode(module.annotations)))
    }
    guard !links.isEmpty else { return .none }
    return buffer.appendList(links) { buffer, link in
      buffer.append(UInt32(truncatingIfNeeded: link.index))
      buffer.append(link.location)
    }
  }

  /// Encodes the lists of a MinidumpModuleCrashpadInfo, then the structure itself.
  private mutating func encode(_ annotations: ModuleAnnotations) -> MinidumpLocation {
    let texts = annotations.list.map { buffer.appendUTF8String($0) }
    let list = texts.isEmpty ? .none : buffer.appendList(texts) { $0.append($1) }
    let simple = appendDictionary(annotations.simple)
    var objects = MinidumpLocation.none
    if !annotations.objects.isEmpty {
      let places = annotations.objects.map { object in
        (
          name: buffer.appendUTF8String(object.name), type: object.type,
          value: buffer.appendByteArray(object.value)
        )
      }
      objects = buffer.appendList(places) { buffer, place in
        buffer.append(place.name)
        buffer.append(place.type)
        // Reserved.
        buffer.append(UInt16(0))
        buffer.append(place.value)
      }
    }
    buffer.align(to: 4)
    let start = buffer.rva
    // Version.
    buffer.append(UInt32(1))
    buffer.append(list)
    buffer.append(simple)
    buffer.append(objects)
    return buffer.location(from: start)
  }
}

extension MinidumpDecoder {
  /// Reads MinidumpModuleCrashpadInfoList, in which a Crashpad client stores nearly all of its annotations.
  ///
  /// A module's entry may be shorter than 28 bytes, because older versions of Crashpad wrote no annotation objects.
  mutating func decodeModuleAnnotations(at location: Int) {
    for link in list(at: location, size: 12) {
      guard let index = file.integer(at: link, width: 4),
        let module = file.location(at: link + 4), module.count >= 20
      else {
        file.note("the annotations of a module are damaged")
        continue
      }
      var annotations = ModuleAnnotations()
      for entry in limitedList(at: module.lowerBound + 4, size: 4) {
        if let text = annotationText(at: entry) { annotations.list.append(text) }
      }
      if moduleAnnotationsLeft > 0 {
        let entries = dictionary(at: module.lowerBound + 12)
        moduleAnnotationsLeft -= entries.count
        annotations.simple = Dictionary(entries, uniquingKeysWith: { first, _ in first })
      }
      if module.count >= 28 {
        for entry in limitedList(at: module.lowerBound + 20, size: 12) {
          if let object = annotationObject(at: entry) { annotations.objects.append(object) }
        }
      }
      moduleAnnotations.append(annotations)
      if let index = Int(exactly: index), moduleIndices.indices.contains(index) {
        snapshot.modules[moduleIndices[index]].annotations = annotations
      }
    }
  }

  /// Reads a MinidumpAnnotation.
  private mutating func annotationObject(at entry: Int) -> ModuleAnnotations.Object? {
    guard let name = annotationText(at: entry), let type = file.integer(at: entry + 4, width: 2),
      let rva = file.integer(at: entry + 8, width: 4), let value = file.byteArray(at: rva)
    else {
      file.note("an annotation is damaged")
      return nil
    }
    return ModuleAnnotations.Object(
      name: name, type: UInt16(truncatingIfNeeded: type), value: value)
  }

  /// The entries of a list, at most `moduleAnnotationsLeft` of them, because in a malicious file many modules may refer
  /// to the same list.
  private mutating func limitedList(at location: Int, size: Int) -> ArraySlice<Int> {
    guard moduleAnnotationsLeft > 0 else { return [] }
    let taken = list(at: location, size: size).prefix(moduleAnnotationsLeft)
    moduleAnnotationsLeft -= taken.count
    return taken
  }

  /// Adds the modules' text annotations to those of the process; if a name occurs more than once, the first value
  /// stays.
  mutating func mergeModuleAnnotations() {
    for annotations in moduleAnnotations {
      snapshot.launchAnnotations.merge(annotations.simple) { first, _ in first }
      let texts = annotations.objects.compactMap { object in object.text.map { (object.name, $0) } }
      snapshot.launchAnnotations.merge(texts) { first, _ in first }
    }
  }
}
