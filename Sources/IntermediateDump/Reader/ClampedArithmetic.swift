// Sums of sizes and times that come from files, of which any can be as large as its type allows.

extension FixedWidthInteger {
  /// The sum, or the end of the type's range where it lies behind that.
  package func clampedAdding(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, or the end of the type's range where it lies behind that.
  package func clampedSubtracting(_ other: Self) -> Self {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }

  /// The product, or the end of the type's range where it lies behind that.
  package func clampedMultiplied(by other: Self) -> Self {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}
