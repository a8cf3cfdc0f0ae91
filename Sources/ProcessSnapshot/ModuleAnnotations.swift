/// What one module said of itself, as Crashpad's clients do; this package's handler has annotations
/// of the process only.
///
/// Source: Crashpad `minidump/minidump_extensions.h`, MinidumpModuleCrashpadInfo.
public struct ModuleAnnotations: Sendable, Equatable {
  /// A value with a name and a type.
  public struct Object: Sendable, Equatable {
    public var name: String
    /// 1 for UTF-8 text; from 0x8000 on the program's own.
    public var type: UInt16
    public var value: [UInt8]

    public init(name: String, type: UInt16, value: [UInt8]) {
      self.name = name
      self.type = type
      self.value = value
    }

    /// The value of an object of type 1; nil for another.
    public var text: String? {
      type == 1 ? String(decoding: value, as: UTF8.self) : nil
    }
  }

  /// Values without names, such as messages of the runtime.
  public var list: [String] = []
  public var simple: [String: String] = [:]
  /// In the order of the dump; a name may occur more than once.
  public var objects: [Object] = []

  public init() {}

  public var isEmpty: Bool { list.isEmpty && simple.isEmpty && objects.isEmpty }
}
