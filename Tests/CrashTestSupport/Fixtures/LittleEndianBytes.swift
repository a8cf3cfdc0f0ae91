/// The bytes of a number, least significant first, made with none of the product's code.
///
/// - Parameter width: in bytes.
package func littleEndian(_ value: UInt64, _ width: Int = 8) -> [UInt8] {
  (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
}
