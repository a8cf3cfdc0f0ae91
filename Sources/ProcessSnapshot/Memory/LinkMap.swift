internal import IntermediateDump

/// The dynamic linker's list of loaded objects: `struct r_debug` of its main namespace.
///
/// The handler read the list without the linker's lock, so the list may be cut off or inconsistent. The dump records
/// the modules separately, so the snapshot's `modules` do not come from this list.
///
/// Source: glibc `<link.h>`.
public struct LinkMap: Sendable, Equatable {
  /// One loaded object, from a `struct link_map`.
  public struct Entry: Sendable, Equatable {
    /// `l_addr`: the load bias, which is the difference between an address in memory and the same address in the file.
    public var address: Address
    /// `l_ld`: the address of the image's dynamic section.
    public var dynamicSection: Address
    /// `l_name`: the path of the object; empty for the executable.
    public var name: String

    public init(address: Address, dynamicSection: Address, name: String) {
      self.address = address
      self.dynamicSection = dynamicSection
      self.name = name
    }
  }

  /// `r_version`: the version of the protocol; 0 if it was not captured.
  public var version: UInt32 = 0
  /// `r_state`: 0 consistent, 1 adding, 2 deleting; nil if it was not captured.
  public var state: UInt32?
  /// `r_brk`: the function that the linker calls when the list changes.
  public var breakpoint: Address = 0
  /// `r_ldbase`: the address of the linker itself.
  public var loaderBase: Address = 0
  /// The address of the `struct r_debug`; nil if it was not captured.
  public var debugAddress: Address?
  /// The address of the executable's dynamic section.
  public var dynamicSection: Address = 0
  /// The bytes of the executable's dynamic section.
  public var dynamicData: [UInt8] = []
  /// The loaded objects, in the order of the linker's list.
  public var entries: [Entry] = []

  public init() {}
}

extension LinkMap {
  /// The maximum number of entries that are read; the handler does not write more entries.
  package static var maximumEntries: Int { 2048 }

  package static let mapFields = MapFields(
    LinkMap(),
    [
      .value(.linkVersion, \.version),
      .optional(.linkState, \.state),
      .value(.linkBreakpoint, \.breakpoint),
      .value(.linkLoaderBase, \.loaderBase),
      .optional(.linkDebugAddress, \.debugAddress),
      .value(.dynamicSection, \.dynamicSection),
      .value(.dynamicData, \.dynamicData),
      .array(
        .linkEntries, of: .linkEntry, \.entries, Entry.mapFields, limit: maximumEntries),
    ])
}

extension LinkMap.Entry {
  static let mapFields = MapFields(
    LinkMap.Entry(address: 0, dynamicSection: 0, name: ""),
    [
      .value(.linkAddress, \.address),
      .value(.linkDynamic, \.dynamicSection),
      .value(.linkName, \.name),
    ])
}
