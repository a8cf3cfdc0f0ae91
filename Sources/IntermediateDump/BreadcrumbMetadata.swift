/// Names and values of a breadcrumb's metadata, in the order in which the program passed them.
///
/// A dump stores each name and each value as text that ends with a zero byte.
public struct BreadcrumbMetadata: Sendable, Equatable {
  public struct Pair: Sendable, Equatable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  public var pairs: [Pair]

  public init(_ pairs: [Pair] = []) { self.pairs = pairs }

  /// Reads the bytes that a dump stores; drops a name without a value.
  package init(_ bytes: some Sequence<UInt8>) {
    let texts = Array(bytes).split(separator: 0, omittingEmptySubsequences: false).dropLast()
      .map { String(decoding: $0, as: UTF8.self) }
    pairs = stride(from: 0, to: texts.count - 1, by: 2)
      .map { Pair(name: texts[$0], value: texts[$0 + 1]) }
  }

  package var bytes: [UInt8] {
    pairs.flatMap { Array($0.name.utf8) + [0] + Array($0.value.utf8) + [0] }
  }
}
