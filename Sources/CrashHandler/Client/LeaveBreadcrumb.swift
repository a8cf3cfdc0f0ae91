internal import CSignalSafe
public import IntermediateDump
internal import PendingDumps

/// Records a breadcrumb: a note about what the program just did.
///
/// If `HandlerOptions.privacy` is `full`, dumps of this process contain the last 128 breadcrumbs.
///
/// A report first shows the last 16 breadcrumbs from the unit of work that crashed. A unit of work is the outermost
/// `withContext` around the call, or else the task, or else the thread. There is room for 512 units of work that leave
/// breadcrumbs at the same time: eight in each of 64 buckets. If more units of work get the same bucket, the
/// breadcrumbs of a finished `withContext` in that bucket are dropped first.
///
/// Each breadcrumb also records the time and the thread. A call takes about 100 nanoseconds, and never locks or
/// allocates. Any number of threads can call this function at the same time, even before `startHandler`. A breadcrumb
/// that was being written when the process crashed is left out and counted.
///
/// - Parameter text: the note; a text of more than 224 bytes is cut.
public func leaveBreadcrumb(_ text: String) {
  leave(text, level: nil, metadata: [])
}

/// Records a log message with its level and its metadata.
///
/// This function works like `leaveBreadcrumb(_:)`, and the last 128 breadcrumbs are those of both functions. Reports
/// show level, text and metadata separately.
///
/// - Parameters:
///   - text: the note; a text of more than 224 bytes is cut.
///   - level: the log level of the message.
///   - metadata: names and values in the order in which reports show them. The pairs share 224 bytes with the text, and
///     each name and each value takes one byte more than its length, because a zero byte ends it. A pair is left out if
///     it does not fit, or if it contains a zero byte.
public func leaveBreadcrumb(
  _ text: String, level: BreadcrumbLevel, metadata: [(name: String, value: String)] = []
) {
  leave(text, level: level, metadata: metadata)
}

private func leave(
  _ text: String, level: BreadcrumbLevel?, metadata: [(name: String, value: String)]
) {
  let uptime = UInt64(bitPattern: SystemClock.sinceBoot)
  let threadID = pm_thread_id()
  let work = WorkKey.current(threadID: threadID)
  unsafe ClientText.withBytes(of: text, atMost: BreadcrumbRing.textCapacity) { bytes, count in
    unsafe BreadcrumbContent.with(bytes, count, level: level, metadata: metadata) { content in
      ClientMemory.ofProcess.breadcrumbs.leave(
        content, work: work, uptime: uptime, threadID: threadID)
      WorkRings.ofProcess.ring(of: work, uptime: uptime)?.leave(
        content, work: work, uptime: uptime, threadID: threadID)
    }
  }
}

extension WorkKey {
  /// The key of the caller's unit of work: the outermost context around the caller, or else the task, or else the
  /// thread.
  fileprivate static func current(threadID: Int32) -> UInt64 {
    if let value = unsafe pm_work_value() { return unsafe ContextValue(value).work }
    let task = pm_task_id()
    return task != 0 ? WorkKey.task(task) : WorkKey.thread(threadID)
  }
}

extension BreadcrumbContent {
  /// Calls the closure with the text and with as many complete metadata pairs as fit into 224 bytes together with the
  /// text; never allocates.
  static func with(
    _ text: UnsafeRawPointer, _ textCount: Int, level: BreadcrumbLevel?,
    metadata: [(name: String, value: String)], _ body: (BreadcrumbContent) -> Void
  ) {
    let level = level?.rawValue ?? 0
    guard !metadata.isEmpty else {
      return body(
        unsafe BreadcrumbContent(
          text: text, textCount: textCount, metadata: text, metadataCount: 0, level: level))
    }
    unsafe withUnsafeTemporaryAllocation(byteCount: BreadcrumbRing.textCapacity, alignment: 1) {
      buffer in
      guard let place = buffer.baseAddress else { return }
      var count = 0
      for pair in metadata {
        var end = count
        if unsafe append(pair.name, to: buffer, at: &end, limit: buffer.count - textCount),
          unsafe append(pair.value, to: buffer, at: &end, limit: buffer.count - textCount)
        {
          count = end
        }
      }
      body(
        unsafe BreadcrumbContent(
          text: text, textCount: textCount, metadata: place, metadataCount: count, level: level))
    }
  }

  /// Appends a text and a zero byte.
  ///
  /// - Returns: false if the text does not fit or contains a zero byte.
  private static func append(
    _ text: String, to buffer: UnsafeMutableRawBufferPointer, at offset: inout Int, limit: Int
  ) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      guard bytes.count < limit - offset, unsafe !bytes.contains(0) else { return false }
      for index in bytes.indices {
        unsafe buffer[offset] = bytes[index]
        offset += 1
      }
      unsafe buffer[offset] = 0
      offset += 1
      return true
    }
  }
}
