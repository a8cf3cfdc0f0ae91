internal import CSignalSafe
internal import IntermediateDump

/// Writes the data that the program has set: annotations, breadcrumbs, the paths of attachments, and the contexts that
/// are open.
///
/// Each annotation, breadcrumb and path is first copied from `ClientMemory` to scratch memory. A value that a thread is
/// changing meanwhile is copied completely or not at all.
///
/// RUNS-DURING-CRASH.
@c(pm_write_client) @_noLocks
func pm_write_client(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard !capture.installed.isSanitized else { return }
  capture.writeSimpleAnnotations()
  capture.writeAnnotations()
  capture.writeBreadcrumbs()
  capture.writeAttachments()
  // Other threads may change the table while it is copied; readers of the dump recognize incomplete entries.
  let used = pm_open_contexts_used()
  if used > 0 { unsafe capture.writer.property(.openContexts, pm_open_contexts(), count: used) }
}

extension Capture {
  fileprivate func writeSimpleAnnotations() {
    let table = ClientMemory.ofProcess.simpleAnnotations
    writer.startArray(.simpleAnnotations)
    for index in Indices(table.count) {
      let found = unsafe table.cell(index).read(into: session.scratch.address)
      guard let reading = found else { continue }
      writer.startMap(.annotation)
      if reading.isReadable {
        writer.property(.annotationName, session.scratch.bytes(count: reading.keyCount))
        writer.property(
          .annotationValue,
          session.scratch.bytes(reading.keyCount, count: reading.count &- reading.keyCount))
      }
      endAnnotation(reading)
    }
    endArray(.simpleAnnotationsOmitted, UInt64(table.omittedCount))
  }

  fileprivate func writeAnnotations() {
    let list = ClientMemory.ofProcess.annotations
    writer.startArray(.annotationObjects)
    var next = list.first
    for _ in Indices(AnnotationList.maximumCount) {
      guard let node = list.node(next) else { break }
      let found = unsafe node.read(into: session.scratch.address)
      next = node.next
      guard let reading = found else { continue }
      writer.startMap(.annotationObject)
      unsafe writer.property(.annotationName, node.name, count: node.nameCount)
      writer.unsigned(.annotationType, UInt64(node.type), width: 1)
      if reading.isReadable {
        writer.property(.annotationData, session.scratch.bytes(count: reading.count))
      }
      endAnnotation(reading)
    }
    endArray(.annotationsOmitted, UInt64(list.omittedCount))
  }

  /// Writes the breadcrumbs, oldest first.
  fileprivate func writeBreadcrumbs() {
    let ring = ClientMemory.ofProcess.breadcrumbs
    let end = ring.leftCount
    let kept = UInt64(truncatingIfNeeded: ring.count)
    var number = end > kept ? end &- kept : 0
    var torn: UInt64 = 0
    writer.startArray(.breadcrumbs)
    while number < end {
      let count = unsafe ring.read(number, into: session.scratch.address)
      number &+= 1
      guard count >= 0 else {
        torn &+= 1
        continue
      }
      writeBreadcrumb(session.scratch, count: count)
    }
    endArray(.breadcrumbsLeft, end)
    writeCount(.breadcrumbsOmitted, torn)
  }

  fileprivate func writeAttachments() {
    let table = ClientMemory.ofProcess.attachments
    writer.startArray(.attachments)
    for index in Indices(table.count) {
      let found = unsafe table.cell(index).read(into: session.scratch.address)
      guard let reading = found, reading.isReadable else { continue }
      writer.startMap(.attachment)
      writer.property(.attachmentPath, session.scratch.bytes(count: reading.count))
      writer.end()
    }
    endArray(.attachmentsOmitted, UInt64(table.omittedCount))
  }

  private func endAnnotation(_ reading: CellReading) {
    if let state = reading.state { writer.unsigned(.annotationState, state.code, width: 1) }
    writer.end()
  }
}

extension Capture {
  /// Writes one breadcrumb that was copied from a ring.
  ///
  /// - Parameter count: the number of bytes of the breadcrumb's text.
  @_noLocks
  func writeBreadcrumb(_ slot: Scratch, count: Int) {
    writer.startMap(.breadcrumb)
    writer.property(.breadcrumbUptime, slot.bytes(16, count: 8))
    writer.property(.breadcrumbThreadID, slot.bytes(24, count: 4))
    writer.property(.breadcrumbText, slot.bytes(BreadcrumbRing.textOffset, count: count))
    // The upper half of the word at offset 24 holds the text's size, the metadata's size and the level: see
    // `BreadcrumbRing.stride`.
    let word = slot.word(24) &>> 32
    if word &>> 24 != 0 {
      writer.property(.breadcrumbLevel, slot.bytes(BreadcrumbRing.levelOffset, count: 1))
    }
    let metadataCount = Int(truncatingIfNeeded: word &>> 8 & 0xFF)
    if metadataCount > 0 {
      writer.property(
        .breadcrumbMetadata, slot.bytes(BreadcrumbRing.textOffset &+ count, count: metadataCount))
    }
    writer.end()
  }

  /// Ends an array, and then writes a count that belongs to the array, unless the count is 0.
  @_noLocks
  func endArray(_ key: IntermediateDumpKey, _ value: UInt64) {
    writer.end()
    writeCount(key, value)
  }

  /// Writes a count, unless it is 0.
  @_noLocks
  func writeCount(_ key: IntermediateDumpKey, _ value: UInt64) {
    guard value != 0 else { return }
    writer.startMap(.client)
    writer.unsigned(key, value)
    writer.end()
  }
}
