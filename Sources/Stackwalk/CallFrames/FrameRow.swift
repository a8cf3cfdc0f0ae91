/// How one register of the caller is had.
///
/// Source: DWARF 5, 6.4.1 (register rules).
enum RegisterRule: Equatable {
  /// The program says nothing: what the calling convention says.
  case unspecified
  case undefined
  case sameValue
  /// Saved in memory at the canonical frame address plus this.
  case offset(Int64)
  /// Is the canonical frame address plus this.
  case valueOffset(Int64)
  case register(UInt64)
  /// Saved in memory at the address that an expression computes.
  case expression(ArraySlice<UInt8>)
  /// Is what an expression computes.
  case valueExpression(ArraySlice<UInt8>)
}

/// How the canonical frame address is had: the stack pointer before the call.
enum FrameAddressRule: Equatable {
  case register(UInt64, offset: Int64)
  case expression(ArraySlice<UInt8>)
}

/// The rules that hold at one place in a function.
struct FrameRow {
  var frameAddress: FrameAddressRule?
  /// By DWARF number, tracked registers only.
  var rules: [RegisterRule]
  /// arm64: the return address is signed here.
  var isReturnAddressSigned = false
  /// The column that holds the return address.
  var returnAddressRegister: Int = 0
  var isSignalFrame = false
  /// What is added to the file's addresses in this process.
  var loadBias: UInt64 = 0

  init(registerCount: Int) {
    rules = Array(repeating: .unspecified, count: registerCount)
  }
}
