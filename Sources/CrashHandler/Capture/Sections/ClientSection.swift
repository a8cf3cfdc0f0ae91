internal import CSignalSafe
internal import IntermediateDump

/// What the program told: annotations, breadcrumbs, and the paths of attachments.
///
/// Read as it lies there, whatever thread was in the middle of changing it.
///
/// RUNS-DURING-CRASH.
@c(pm_write_client) @_noLocks
func pm_write_client(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let client = ClientWriter(capture)
  client.writeSimpleAnnotations()
  client.writeAnnotations()
  client.writeBreadcrumbs()
  client.writeAttachments()
}

/// Writes the tables of `ClientMemory`, each value by way of scratch memory.
///
/// RUNS-DURING-CRASH.
@safe
private struct ClientWriter {
  private let capture: Capture
  private let memory = ClientMemory.ofProcess

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// A count, where it says something.
  @_noLocks
  private func count(_ key: IntermediateDumpKey, _ value: UInt64) {
    guard value != 0 else { return }
    capture.session.writer.startMap(.client)
    capture.session.writer.unsigned(key, value)
    capture.session.writer.end()
  }

  @_noLocks
  private func annotationState(_ reading: CellReading) {
    guard reading.stateCode != 0 else { return }
    capture.session.writer.unsigned(.annotationState, reading.stateCode, width: 1)
  }

  @_noLocks
  func writeSimpleAnnotations() {
    let table = memory.simpleAnnotations
    let place = capture.session.scratch
    capture.session.writer.startArray(.simpleAnnotations)
    var index = 0
    while index < table.count {
      let reading = unsafe table.cell(index).read(into: place.address)
      index &+= 1
      guard reading.kind != .empty else { continue }
      capture.session.writer.startMap(.annotation)
      if reading.kind == .value {
        capture.session.writer.property(.annotationName, place.bytes(count: reading.keyCount))
        capture.session.writer.property(
          .annotationValue,
          place.bytes(reading.keyCount, count: reading.count &- reading.keyCount))
      }
      annotationState(reading)
      capture.session.writer.end()
    }
    capture.session.writer.end()
    count(.simpleAnnotationsOmitted, UInt64(table.omittedCount))
  }

  @_noLocks
  func writeAnnotations() {
    let list = memory.annotations
    let place = capture.session.scratch
    capture.session.writer.startArray(.annotationObjects)
    var next = list.first
    var index = 0
    while index < AnnotationList.maximumCount, let node = list.node(next) {
      let reading = unsafe node.cell.read(into: place.address)
      next = node.next
      index &+= 1
      guard reading.kind != .empty else { continue }
      capture.session.writer.startMap(.annotationObject)
      unsafe capture.session.writer.property(.annotationName, node.name, count: node.nameCount)
      capture.session.writer.unsigned(.annotationType, UInt64(node.type), width: 1)
      if reading.kind == .value {
        capture.session.writer.property(.annotationData, place.bytes(count: reading.count))
      }
      annotationState(reading)
      capture.session.writer.end()
    }
    capture.session.writer.end()
    count(.annotationsOmitted, UInt64(list.omittedCount))
  }

  /// Oldest first.
  @_noLocks
  func writeBreadcrumbs() {
    let ring = memory.breadcrumbs
    let place = capture.session.scratch
    let end = ring.leftCount
    let kept = UInt64(truncatingIfNeeded: BreadcrumbRing.count)
    var number = end > kept ? end &- kept : 0
    var torn: UInt64 = 0
    capture.session.writer.startArray(.breadcrumbs)
    while number < end {
      let count = unsafe ring.read(number, into: place.address)
      number &+= 1
      guard count >= 0 else {
        torn &+= 1
        continue
      }
      capture.session.writer.startMap(.breadcrumb)
      capture.session.writer.property(.breadcrumbTime, place.bytes(8, count: 8))
      capture.session.writer.property(.breadcrumbUptime, place.bytes(16, count: 8))
      capture.session.writer.property(.breadcrumbThreadID, place.bytes(24, count: 4))
      capture.session.writer.property(
        .breadcrumbText, place.bytes(BreadcrumbRing.textOffset, count: count))
      capture.session.writer.end()
    }
    capture.session.writer.end()
    count(.breadcrumbsLeft, end)
    count(.breadcrumbsOmitted, torn)
  }

  @_noLocks
  func writeAttachments() {
    let table = memory.attachments
    let place = capture.session.scratch
    capture.session.writer.startArray(.attachments)
    var index = 0
    while index < table.count {
      let reading = unsafe table.cell(index).read(into: place.address)
      index &+= 1
      guard reading.kind == .value else { continue }
      capture.session.writer.startMap(.attachment)
      capture.session.writer.property(.attachmentPath, place.bytes(count: reading.count))
      capture.session.writer.end()
    }
    capture.session.writer.end()
    count(.attachmentsOmitted, UInt64(table.omittedCount))
  }
}

/// The memory ranges that the program asked for; after the threads, which matter more.
///
/// RUNS-DURING-CRASH.
@c(pm_write_extra_memory) @_noLocks
func pm_write_extra_memory(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let table = ClientMemory.ofProcess.memoryRanges
  let writer = ThreadWriter(capture)
  let place = capture.session.scratch
  let limit = capture.installed.limits.extraMemory
  var left = limit > 0 ? UInt64(truncatingIfNeeded: limit) : 0
  var omitted: UInt64 = 0
  capture.session.writer.startArray(.extraMemory)
  var index = 0
  while index < table.count {
    let reading = unsafe table.cell(index).read(into: place.address)
    index &+= 1
    guard reading.kind == .value && reading.count == ClientMemory.rangeCapacity else { continue }
    let address = place.word(0)
    let size = place.word(8)
    let taken = size < left ? size : left
    writer.writeMemory(address, count: Int(truncatingIfNeeded: taken))
    left &-= taken
    omitted &+= size &- taken
  }
  capture.session.writer.end()
  let rangesOmitted = UInt64(table.omittedCount)
  guard omitted | rangesOmitted != 0 else { return }
  capture.session.writer.startMap(.client)
  capture.session.writer.unsigned(.memoryRangesOmitted, rangesOmitted)
  capture.session.writer.unsigned(.memoryBytesOmitted, omitted)
  capture.session.writer.end()
}
