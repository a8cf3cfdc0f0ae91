extension String {
  /// The lines of the text, without line feeds; each line is found only when the sequence reaches it.
  package var lazyLines: UnfoldSequence<Substring, Substring> {
    sequence(state: self[...]) { rest in
      rest.isEmpty ? nil : rest.cut(before: UInt8(ascii: "\n")) ?? rest.cutAll()
    }
  }
}

extension Substring {
  /// Removes and returns the text before the first occurrence of a byte, and removes that byte too; nil if the byte
  /// does not occur.
  package mutating func cut(before byte: UInt8) -> Substring? {
    guard let end = utf8.firstIndex(of: byte) else { return nil }
    defer { self = self[utf8.index(after: end)...] }
    return self[..<end]
  }

  /// Removes and returns all of the text.
  package mutating func cutAll() -> Substring {
    defer { self = "" }
    return self
  }

  /// Returns the word at an index, counted from 0; nil if there are fewer words.
  ///
  /// Spaces separate words.
  func word(_ place: Int) -> Substring? {
    var rest = self
    var left = place
    while !rest.isEmpty {
      let word = rest.cut(before: UInt8(ascii: " ")) ?? rest.cutAll()
      if word.isEmpty { continue }
      if left == 0 { return word }
      left -= 1
    }
    return nil
  }
}
