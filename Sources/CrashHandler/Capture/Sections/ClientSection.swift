internal import CSignalSafe
internal import IntermediateDump

/// Writes the tables of `ClientMemory`, each value by way of scratch memory.
///
/// Read as they lie there, whatever thread was changing them.
///
/// RUNS-DURING-CRASH.
@safe
struct ClientSection {
  private let memory = ClientMemory.ofProcess
  private let scratch: Scratch
  private let output: DumpOutput

  @_noLocks
  init(scratch: Scratch, output: DumpOutput) {
    self.scratch = scratch
    self.output = output
  }

  @_noLocks
  func writeSimpleAnnotations() {
    let table = memory.simpleAnnotations
    output.startArray(.simpleAnnotations)
    var index = 0
    while index < table.count {
      let reading = unsafe table.cell(index).read(into: scratch.address)
      index &+= 1
      guard reading.kind != .empty else { continue }
      output.startMap(.annotation)
      if reading.kind == .value {
        output.property(.annotationName, scratch.bytes(count: reading.keyCount))
        output.property(
          .annotationValue,
          scratch.bytes(reading.keyCount, count: reading.count &- reading.keyCount))
      }
      endAnnotation(reading)
    }
    output.endArray(.simpleAnnotationsOmitted, UInt64(table.omittedCount))
  }

  @_noLocks
  func writeAnnotations() {
    let list = memory.annotations
    output.startArray(.annotationObjects)
    var next = list.first
    var index = 0
    while index < AnnotationList.maximumCount, let node = list.node(next) {
      let reading = unsafe node.read(into: scratch.address)
      next = node.next
      index &+= 1
      guard reading.kind != .empty else { continue }
      output.startMap(.annotationObject)
      unsafe output.property(.annotationName, node.name, count: node.nameCount)
      output.unsigned(.annotationType, UInt64(node.type), width: 1)
      if reading.kind == .value {
        output.property(.annotationData, scratch.bytes(count: reading.count))
      }
      endAnnotation(reading)
    }
    output.endArray(.annotationsOmitted, UInt64(list.omittedCount))
  }

  /// Writes the breadcrumbs, oldest first.
  @_noLocks
  func writeBreadcrumbs() {
    let ring = memory.breadcrumbs
    let end = ring.leftCount
    let kept = UInt64(truncatingIfNeeded: ring.count)
    var number = end > kept ? end &- kept : 0
    var torn: UInt64 = 0
    output.startArray(.breadcrumbs)
    while number < end {
      let count = unsafe ring.read(number, into: scratch.address)
      number &+= 1
      guard count >= 0 else {
        torn &+= 1
        continue
      }
      output.breadcrumb(scratch, count: count)
    }
    output.endArray(.breadcrumbsLeft, end)
    output.count(.breadcrumbsOmitted, torn)
  }

  @_noLocks
  func writeAttachments() {
    let table = memory.attachments
    output.startArray(.attachments)
    var index = 0
    while index < table.count {
      let reading = unsafe table.cell(index).read(into: scratch.address)
      index &+= 1
      guard reading.kind == .value else { continue }
      output.startMap(.attachment)
      output.property(.attachmentPath, scratch.bytes(count: reading.count))
      output.end()
    }
    output.endArray(.attachmentsOmitted, UInt64(table.omittedCount))
  }

  /// Writes the memory ranges.
  ///
  /// - Parameter limit: bytes of all ranges together.
  @_noLocks
  func writeMemory(_ regions: MemoryWriter, limit: Int) {
    let table = memory.memoryRanges
    var left = limit > 0 ? UInt64(truncatingIfNeeded: limit) : 0
    var omitted: UInt64 = 0
    output.startArray(.extraMemory)
    var index = 0
    while index < table.count {
      let reading = unsafe table.cell(index).read(into: scratch.address)
      index &+= 1
      guard reading.kind == .value && reading.count == ClientMemory.rangeCapacity else { continue }
      let address = scratch.word(0)
      let size = scratch.word(8)
      let wanted = size < left ? size : left
      let taken = regions.write(address, count: Int(truncatingIfNeeded: wanted))
      left &-= UInt64(truncatingIfNeeded: taken)
      omitted &+= size &- wanted
    }
    output.end()
    let rangesOmitted = UInt64(table.omittedCount)
    guard omitted | rangesOmitted != 0 else { return }
    output.startMap(.client)
    output.unsigned(.memoryRangesOmitted, rangesOmitted)
    output.unsigned(.memoryBytesOmitted, omitted)
    output.end()
  }

  private func endAnnotation(_ reading: CellReading) {
    if let state = reading.state { output.unsigned(.annotationState, state.code, width: 1) }
    output.end()
  }
}

extension DumpOutput {
  /// Writes a breadcrumb that was read out of a ring.
  ///
  /// - Parameter count: bytes of its text.
  @_noLocks
  func breadcrumb(_ slot: Scratch, count: Int) {
    startMap(.breadcrumb)
    property(.breadcrumbUptime, slot.bytes(16, count: 8))
    property(.breadcrumbThreadID, slot.bytes(24, count: 4))
    property(.breadcrumbText, slot.bytes(BreadcrumbRing.textOffset, count: count))
    end()
  }

  /// Ends an array, and writes the count that goes with it.
  @_noLocks
  func endArray(_ key: IntermediateDumpKey, _ value: UInt64) {
    end()
    count(key, value)
  }

  /// Writes a count that is not 0.
  @_noLocks
  func count(_ key: IntermediateDumpKey, _ value: UInt64) {
    guard value != 0 else { return }
    startMap(.client)
    unsigned(key, value)
    end()
  }
}
