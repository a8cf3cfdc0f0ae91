/// How certain a cause is; the values of the key `verdictCertainty`.
package enum FindingCertainty: UInt8, DumpCode {
  /// The processor, the kernel or the program's own runtime reported the cause.
  case certain = 1
  /// The cause is the best explanation of the evidence, but another cause can leave the same evidence.
  case likely = 2
  /// The cause was derived from names in debug information or symbol tables.
  case inferred = 3

  package var word: String {
    switch self {
    case .certain: "certain"
    case .likely: "likely"
    case .inferred: "inferred"
    }
  }
}
