/// The bytes of a number, least significant first, without using the product's code.
///
/// - Parameter width: the number of bytes.
package func littleEndian(_ value: UInt64, _ width: Int = 8) -> [UInt8] {
  (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
}
