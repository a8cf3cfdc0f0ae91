// Arithmetic whose results are limited to the type's range. Sizes and times from files can be as large as their type
// allows, so ordinary arithmetic with them could overflow and trap.

extension FixedWidthInteger {
  /// The sum, limited to the type's range.
  package func clampedAdding(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, limited to the type's range.
  package func clampedSubtracting(_ other: Self) -> Self {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }

  /// The product, limited to the type's range.
  package func clampedMultiplied(by other: Self) -> Self {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}

extension Duration {
  /// The duration in whole seconds, rounded toward zero.
  package var wholeSeconds: Int64 { components.seconds }

  /// The duration in whole milliseconds, limited to the type's range.
  package var wholeMilliseconds: Int64 {
    components.seconds.clampedMultiplied(by: 1000)
      .clampedAdding(components.attoseconds / 1_000_000_000_000_000)
  }

  /// The duration in whole nanoseconds, limited to the type's range.
  package var wholeNanoseconds: Int64 {
    components.seconds.clampedMultiplied(by: 1_000_000_000)
      .clampedAdding(components.attoseconds / 1_000_000_000)
  }
}
