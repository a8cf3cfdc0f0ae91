public import IntermediateDump

/// One ELF image in the address space: the executable, a shared library, the loader or the vDSO.
public struct ModuleSnapshot: Sendable, Equatable {
  public typealias Source = ModuleSource

  /// A loaded part of the image, in whole pages.
  public struct Segment: Sendable, Equatable {
    public var range: AddressRange
    public var isExecutable: Bool

    public init(range: AddressRange, isExecutable: Bool) {
      (self.range, self.isExecutable) = (range, isExecutable)
    }
  }

  /// The start of the page with the lowest loaded address.
  ///
  /// If the ELF header is loaded, it is at this address.
  public var address: Address
  /// The number of bytes from `address` to the end of the last loaded segment.
  public var size: UInt64
  /// The path as in `/proc/self/maps`, without a trailing " (deleted)"; "linux-gate.so" for the vDSO.
  public var path: String
  /// True if the file had been deleted or replaced when the dump was taken.
  public var isDeleted: Bool
  /// The GNU build ID; empty if the image has none, or if it could not be read.
  public var buildID: [UInt8]
  /// How the handler found the module; nil if the dump does not record this.
  public var source: Source?
  /// The loaded segments by ascending address; empty if they are not known.
  public var segments: [Segment] = []
  /// The range of the unwind table `.eh_frame_hdr`, from its program header; nil if it is not known.
  package var unwindTable: AddressRange?
  /// The annotations of this module, as opposed to those of the process.
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

  /// True if an address belongs to the image.
  ///
  /// Memory between the segments does not belong to the image.
  public func contains(_ address: Address) -> Bool {
    range.contains(address)
      && (segments.isEmpty || segments.contains { $0.range.contains(address) })
  }

  /// True for an address in an executable segment; false if the segments are not known.
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

/// The annotations of one module.
///
/// Crashpad's clients record such annotations; the handler of this package records only annotations of the process.
///
/// Source: Crashpad `minidump/minidump_extensions.h`, MinidumpModuleCrashpadInfo.
public struct ModuleAnnotations: Sendable, Equatable {
  /// An annotation with a name and a type.
  public struct Object: Sendable, Equatable {
    public var name: String
    /// The type of the value: 1 for UTF-8 text; the program defines types from 0x8000 on.
    public var type: UInt16
    public var value: [UInt8]

    public init(name: String, type: UInt16, value: [UInt8]) {
      self.name = name
      self.type = type
      self.value = value
    }

    /// The value as text if the type is 1; nil for another type.
    public var text: String? {
      type == 1 ? String(decoding: value, as: UTF8.self) : nil
    }
  }

  /// Annotations without names, such as messages from a runtime.
  public var list: [String] = []
  public var simple: [String: String] = [:]
  /// The annotations in the order of the dump; a name may occur more than once.
  public var objects: [Object] = []

  public init() {}

  public var isEmpty: Bool { list.isEmpty && simple.isEmpty && objects.isEmpty }
}

extension ProcessSnapshot {
  /// Finds the program's module and returns its address; nil if none of the modules is the program.
  ///
  /// If the dump marks a module as the program (`source`), that module is used. Otherwise the program's module is the
  /// one that contains the entry point in the auxiliary vector, or the one with the executable's path.
  package func mainModuleAddress(in modules: [ModuleSnapshot]) -> Address? {
    if let module = modules.first(where: { $0.source == .program }) { return module.address }
    if let vector = process.auxiliaryVector?[...] {
      var offset = 0
      while let type = vector.littleEndian(at: offset, width: 8),
        let value = vector.littleEndian(at: offset + 8, width: 8)
      {
        offset += 16
        // AT_ENTRY.
        // Source: getauxval(3).
        if type == 9, let module = modules.first(where: { $0.contains(Address(value)) }) {
          return module.address
        }
      }
    }
    return modules.first { $0.path == process.executablePath }?.address
  }

  /// Copies the program's typed annotations to the program's module, where Crashpad's clients record them.
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
