internal import IntermediateDump

extension ClientInformation {
  /// Reads what a dump's root map, or that of a minidump's extension, has of it.
  init(reading root: IntermediateDumpMap) {
    simpleAnnotations = root.elements(.simpleAnnotations).map { map in
      ClientAnnotation(
        name: map.text(.annotationName),
        value: map.text(.annotationValue).map(ClientAnnotation.Value.text),
        state: ClientAnnotation.State(in: map))
    }
    annotations = root.elements(.annotationObjects).map { map in
      ClientAnnotation(
        name: map.text(.annotationName), value: ClientAnnotation.Value(reading: map),
        state: ClientAnnotation.State(in: map))
    }
    breadcrumbs = root.elements(.breadcrumbs).compactMap(Breadcrumb.init)
    for map in root.elements(.extraMemory) { append(range: map) }
    attachments = root.elements(.attachments).compactMap(Attachment.init)
    userStreamFailures = root.elements(.userStreamFailures).compactMap {
      $0.text(.userStreamReason)
    }
    for map in root.maps(.client) { overlay(map) }
  }

  private mutating func append(range map: IntermediateDumpMap) {
    guard let address = map.address(.regionAddress), let size = map.unsigned(.regionSize),
      size > 0, AddressRange(start: address, byteCount: size).byteCount == size
    else { return }
    // Written in chunks; touching ones are one range again.
    if let last = extraMemory.last, last.range.end == address {
      extraMemory[extraMemory.count - 1].size = last.size &+ size
    } else {
      extraMemory.append(ExtraMemoryRange(address: address, size: size))
    }
  }

  private mutating func overlay(_ map: IntermediateDumpMap) {
    annotationsOmitted = map.unsigned(.annotationsOmitted) ?? annotationsOmitted
    simpleAnnotationsOmitted = map.unsigned(.simpleAnnotationsOmitted) ?? simpleAnnotationsOmitted
    breadcrumbsLeft = map.unsigned(.breadcrumbsLeft) ?? breadcrumbsLeft
    breadcrumbsOmitted = map.unsigned(.breadcrumbsOmitted) ?? breadcrumbsOmitted
    memoryRangesOmitted = map.unsigned(.memoryRangesOmitted) ?? memoryRangesOmitted
    memoryBytesOmitted = map.unsigned(.memoryBytesOmitted) ?? memoryBytesOmitted
    attachmentsOmitted = map.unsigned(.attachmentsOmitted) ?? attachmentsOmitted
  }

  /// Writes the same, but for the bytes of memory.
  func encode(to writer: inout IntermediateDumpWriter) {
    guard !isEmpty else { return }
    writer.startMap(.client)
    writer.optional(.annotationsOmitted, annotationsOmitted)
    writer.optional(.simpleAnnotationsOmitted, simpleAnnotationsOmitted)
    writer.optional(.breadcrumbsLeft, breadcrumbsLeft)
    writer.optional(.breadcrumbsOmitted, breadcrumbsOmitted)
    writer.optional(.memoryRangesOmitted, memoryRangesOmitted)
    writer.optional(.memoryBytesOmitted, memoryBytesOmitted)
    writer.optional(.attachmentsOmitted, attachmentsOmitted)
    writer.end()
    writer.array(.simpleAnnotations, of: .annotation, simpleAnnotations) { writer, annotation in
      writer.text(.annotationName, annotation.name)
      writer.text(.annotationValue, annotation.text)
      writer.optional(.annotationState, annotation.state?.rawValue)
    }
    writer.array(.annotationObjects, of: .annotationObject, annotations) { writer, annotation in
      writer.text(.annotationName, annotation.name)
      annotation.value?.encode(to: &writer)
      writer.optional(.annotationState, annotation.state?.rawValue)
    }
    writer.array(.breadcrumbs, of: .breadcrumb, breadcrumbs) { writer, breadcrumb in
      writer.optional(.breadcrumbTime, breadcrumb.time)
      writer.optional(.breadcrumbUptime, breadcrumb.uptime)
      writer.optional(.breadcrumbThreadID, breadcrumb.threadID)
      writer.text(.breadcrumbText, breadcrumb.text)
    }
    writer.array(.extraMemory, of: .memoryRegion, extraMemory) { writer, range in
      writer.address(.regionAddress, range.address)
      writer.unsigned(.regionSize, range.size)
    }
    writer.array(.attachments, of: .attachment, attachments) { writer, attachment in
      writer.text(.attachmentPath, attachment.path)
      writer.text(.attachmentName, attachment.name)
      writer.optional(.attachmentSize, attachment.size)
      writer.optional(.attachmentBytesOmitted, attachment.bytesOmitted)
      writer.text(.attachmentFailure, attachment.failure)
    }
    writer.array(.userStreamFailures, of: .userStreamFailure, userStreamFailures) {
      $0.text(.userStreamReason, $1)
    }
  }
}

extension IntermediateDumpWriter {
  fileprivate mutating func array<Element>(
    _ key: IntermediateDumpKey, of map: IntermediateDumpKey, _ elements: [Element],
    _ body: (inout IntermediateDumpWriter, Element) -> Void
  ) {
    guard !elements.isEmpty else { return }
    startArray(key)
    for element in elements {
      startMap(map)
      body(&self, element)
      end()
    }
    end()
  }
}

extension ClientInformation.Breadcrumb {
  fileprivate init?(_ map: IntermediateDumpMap) {
    guard let text = map.text(.breadcrumbText) else { return nil }
    self.init(text: text)
    time = map.signed(.breadcrumbTime)
    uptime = map.unsigned(.breadcrumbUptime)
    threadID = map.unsigned32(.breadcrumbThreadID)
  }
}

extension ClientInformation.Attachment {
  fileprivate init?(_ map: IntermediateDumpMap) {
    guard let path = map.text(.attachmentPath) else { return nil }
    self.init(path: path)
    name = map.text(.attachmentName)
    size = map.unsigned(.attachmentSize)
    bytesOmitted = map.unsigned(.attachmentBytesOmitted)
    failure = map.text(.attachmentFailure)
  }
}

extension ClientAnnotation.State {
  fileprivate init?(in map: IntermediateDumpMap) {
    guard let code = map.unsigned(.annotationState).flatMap(UInt8.init(exactly:)) else {
      return nil
    }
    self.init(rawValue: code)
  }
}

extension ClientAnnotation.Value {
  /// Nil where there are no bytes, or too few, and for a type that is not known.
  fileprivate init?(reading map: IntermediateDumpMap) {
    guard let type = map.unsigned(.annotationType) else { return nil }
    if type == 1 {
      guard let text = map.text(.annotationData) else { return nil }
      self = .text(text)
      return
    }
    guard let bytes = map.data(.annotationData), let word = bytes.littleEndian(at: 0, width: 8)
    else { return nil }
    switch type {
    case 2: self = .signed(Int64(bitPattern: word))
    case 3: self = .unsigned(word)
    case 4: self = .double(word)
    case 5: self = .bool(word != 0)
    default: return nil
    }
  }

  fileprivate func encode(to writer: inout IntermediateDumpWriter) {
    func encode(_ type: UInt64, _ word: UInt64) {
      writer.unsigned(.annotationType, type, width: 1)
      writer.unsigned(.annotationData, word)
    }
    switch self {
    case .text(let text):
      writer.unsigned(.annotationType, 1, width: 1)
      writer.text(.annotationData, text)
    case .signed(let number): encode(2, UInt64(bitPattern: number))
    case .unsigned(let number): encode(3, number)
    case .double(let bits): encode(4, bits)
    case .bool(let isTrue): encode(5, isTrue ? 1 : 0)
    }
  }
}
