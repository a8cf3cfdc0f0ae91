extension StringProtocol {
  /// The text without white space and line ends at its beginning and end.
  package var withoutOuterWhitespace: String {
    let start = drop { $0.isWhitespace }
    return String(
      start.prefix(
        upTo: start.lastIndex { !$0.isWhitespace }.map(start.index(after:)) ?? start.startIndex))
  }
}
