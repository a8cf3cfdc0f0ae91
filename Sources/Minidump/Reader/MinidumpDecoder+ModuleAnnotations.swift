internal import ProcessSnapshot

extension MinidumpDecoder {
  /// MinidumpModuleCrashpadInfoList; a Crashpad client keeps nearly all it says of itself there.
  ///
  /// A module's entry may be shorter than its 28 bytes: earlier versions had no annotation objects.
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
        annotations.simple = Dictionary(
          entries.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
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

  /// MinidumpAnnotation.
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

  /// As many entries as may still be taken: many modules may name the same list.
  private mutating func limitedList(at location: Int, size: Int) -> ArraySlice<Int> {
    guard moduleAnnotationsLeft > 0 else { return [] }
    let taken = list(at: location, size: size).prefix(moduleAnnotationsLeft)
    moduleAnnotationsLeft -= taken.count
    return taken
  }

  /// Makes the modules' text annotations the process's too; its own come first.
  mutating func mergeModuleAnnotations() {
    for annotations in moduleAnnotations {
      for (name, value) in annotations.simple where snapshot.annotations[name] == nil {
        snapshot.annotations[name] = value
      }
      for object in annotations.objects {
        guard let text = object.text, snapshot.annotations[object.name] == nil else { continue }
        snapshot.annotations[object.name] = text
      }
    }
  }
}
