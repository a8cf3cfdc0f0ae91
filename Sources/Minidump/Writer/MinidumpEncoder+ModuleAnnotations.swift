internal import ProcessSnapshot

extension MinidumpEncoder {
  /// MinidumpModuleCrashpadInfoList: the modules that have annotations, by their place in the
  /// module list.
  ///
  /// Source: Crashpad `minidump/minidump_extensions.h`.
  mutating func encodeModuleAnnotations() -> MinidumpLocation {
    var links: [(index: Int, location: MinidumpLocation)] = []
    for (index, module) in modules.enumerated() where !module.annotations.isEmpty {
      links.append((index, encode(module.annotations)))
    }
    guard !links.isEmpty else { return .none }
    return appendList(links) { buffer, link in
      buffer.append(UInt32(truncatingIfNeeded: link.index))
      buffer.append(link.location)
    }
  }

  /// MinidumpModuleCrashpadInfo, its lists in front of it.
  private mutating func encode(_ annotations: ModuleAnnotations) -> MinidumpLocation {
    let texts = annotations.list.map { buffer.appendUTF8String($0) }
    let list = texts.isEmpty ? .none : appendList(texts) { $0.append($1) }
    let simple = appendDictionary(annotations.simple)
    var objects = MinidumpLocation.none
    if !annotations.objects.isEmpty {
      let places = annotations.objects.map { object in
        (
          name: buffer.appendUTF8String(object.name), type: object.type,
          value: buffer.appendByteArray(object.value)
        )
      }
      objects = appendList(places) { buffer, place in
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
    return MinidumpLocation(
      size: UInt32(truncatingIfNeeded: MinidumpFormat.moduleCrashpadInfoSize), rva: start)
  }

  /// A 32-bit count, then the entries.
  private mutating func appendList<Element>(
    _ elements: [Element], entry: (inout MinidumpBuffer, Element) -> Void
  ) -> MinidumpLocation {
    buffer.align(to: 4)
    let start = buffer.rva
    buffer.append(UInt32(truncatingIfNeeded: elements.count))
    for element in elements { entry(&buffer, element) }
    return MinidumpLocation(size: buffer.rva &- start, rva: start)
  }
}
