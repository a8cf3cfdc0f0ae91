@_exported public import CrashKinds
public import Testing

extension KnownCrash: CustomTestStringConvertible {
  public var testDescription: String { kind }
}

extension CrashPlace: CustomTestStringConvertible {
  public var testDescription: String { rawValue }
}
