extension String {
  /// The beginning of the text, at most `limit` bytes of UTF-8; a character at the limit is left out, not cut.
  package func cut(toBytes limit: Int) -> Substring {
    guard var end = utf8.index(startIndex, offsetBy: limit, limitedBy: endIndex),
      end < endIndex
    else { return self[...] }
    while end > startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
    return self[..<end]
  }
}
