internal import IntermediateDump

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
