extension String {
  /// The lines without their ends, none of them made before it is asked for.
  package var lazyLines: UnfoldSequence<Substring, Substring> {
    sequence(state: self[...]) { rest in
      rest.isEmpty ? nil : rest.cut(before: UInt8(ascii: "\n")) ?? rest.cutAll()
    }
  }
}

extension Substring {
  /// Takes what comes before the next byte of a value, and that byte, from the front; nil where there
  /// is none.
  package mutating func cut(before byte: UInt8) -> Substring? {
    guard let end = utf8.firstIndex(of: byte) else { return nil }
    defer { self = self[utf8.index(after: end)...] }
    return self[..<end]
  }

  /// Takes all of it.
  package mutating func cutAll() -> Substring {
    defer { self = "" }
    return self
  }

  /// The word at a place, from 0, of those between blanks.
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
