public import IntermediateDump

/// One ELF image in the address space: the executable, a shared library, the loader or the vDSO.
public struct ModuleSnapshot: Sendable, Equatable {
  public typealias Source = ModuleSource

  /// A part of the image that is loaded, in whole pages.
  public struct Segment: Sendable, Equatable {
    public var range: AddressRange
    public var isExecutable: Bool

    public init(range: AddressRange, isExecutable: Bool) {
      (self.range, self.isExecutable) = (range, isExecutable)
    }
  }

  /// The page of the lowest loaded address; it contains the ELF header if that is loaded.
  public var address: Address
  /// The number of bytes from `address` to the end of the last loaded segment.
  public var size: UInt64
  /// The path as in `/proc/self/maps`, without a trailing " (deleted)"; "linux-gate.so" for the vDSO.
  public var path: String
  /// True if the file had been deleted or replaced when the process crashed.
  public var isDeleted: Bool
  /// The GNU build ID; empty if the image has none.
  public var buildID: [UInt8]
  /// The way in which the module was found; nil if the dump does not contain it.
  public var source: Source?
  /// The loaded segments by ascending address; empty if they are not known.
  public var segments: [Segment] = []
  /// The module's own annotations.
  public var annotations = ModuleAnnotations()

  public init(
    address: Address, size: UInt64, path: String, isDeleted: Bool = false, buildID: [UInt8] = []
  ) {
    self.address = address
    self.size = size
    self.path = path
    self.isDeleted = isDeleted
    self.buildID = buildID
  }

  public var range: AddressRange { AddressRange(start: address, byteCount: size) }

  /// True for an address in the image; memory between its segments is not the image's.
  public func contains(_ address: Address) -> Bool {
    range.contains(address)
      && (segments.isEmpty || segments.contains { $0.range.contains(address) })
  }

  /// True for an address in a segment of code; false where segments are not known.
  package func hasCode(at address: Address) -> Bool {
    range.contains(address)
      && segments.contains { $0.isExecutable && $0.range.contains(address) }
  }

  /// The last component of the path.
  public var name: String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(path[path.index(after: slash)...])
  }
}

/// The annotations of one module, which Crashpad's clients record; this package's handler records only those of the
/// process.
///
/// Source: Crashpad `minidump/minidump_extensions.h`, MinidumpModuleCrashpadInfo.
public struct ModuleAnnotations: Sendable, Equatable {
  /// A value with a name and a type.
  public struct Object: Sendable, Equatable {
    public var name: String
    /// 1 for UTF-8 text; types from 0x8000 on are defined by the program.
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
  /// The annotations in the order of the dump; a name may occur more than once.
  public var objects: [Object] = []

  public init() {}

  public var isEmpty: Bool { list.isEmpty && simple.isEmpty && objects.isEmpty }
}

extension ProcessSnapshot {
  /// The address of the program's own module among some: the one that the dump names, otherwise the one with the
  /// entry point in the auxiliary vector, otherwise the one with the executable's path.
  package func mainModuleAddress(in modules: [ModuleSnapshot]) -> Address? {
    if let module = modules.first(where: { $0.source == .program }) { return module.address }
    if let vector = process.auxiliaryVector?[...] {
      var offset = 0
      while let type = vector.littleEndian(at: offset, width: 8),
        let value = vector.littleEndian(at: offset + 8, width: 8)
      {
        offset += 16
        // AT_ENTRY; source: getauxval(3).
        if type == 9, let module = modules.first(where: { $0.contains(Address(value)) }) {
          return module.address
        }
      }
    }
    return modules.first { $0.path == process.executablePath }?.address
  }

  /// Adds the program's annotations to its own module too, because Crashpad's clients record them there.
  mutating func spreadClientAnnotations() {
    let objects = client.annotations.compactMap { annotation in
      annotation.name.flatMap { name in
        annotation.text.map {
          ModuleAnnotations.Object(name: name, type: 1, value: Array($0.utf8))
        }
      }
    }
    guard !objects.isEmpty, let address = mainModuleAddress(in: modules),
      let index = modules.firstIndex(where: { $0.address == address })
    else { return }
    modules[index].annotations.objects = objects
  }
}
