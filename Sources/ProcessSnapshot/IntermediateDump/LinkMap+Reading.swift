internal import IntermediateDump

extension LinkMap {
  /// Entries taken at most; the handler writes no more.
  package static var maximumEntries: Int { 2048 }

  /// Reads a `linkMap` map.
  init(reading map: IntermediateDumpMap) {
    self.init()
    overlay(map)
    dynamicData = map.array(of: .dynamicData) ?? []
    entries = map.array(.linkEntries).prefix(Self.maximumEntries).map { entry in
      Entry(
        address: entry.address(.linkAddress) ?? 0,
        dynamicSection: entry.address(.linkDynamic) ?? 0,
        name: entry.text(.linkName) ?? "")
    }
  }

  /// Takes what a map has of the fields that are single numbers.
  mutating func overlay(_ map: IntermediateDumpMap) {
    version = map.unsigned32(.linkVersion) ?? version
    state = map.unsigned32(.linkState) ?? state
    breakpoint = map.address(.linkBreakpoint) ?? breakpoint
    loaderBase = map.address(.linkLoaderBase) ?? loaderBase
    debugAddress = map.address(.linkDebugAddress) ?? debugAddress
    dynamicSection = map.address(.dynamicSection) ?? dynamicSection
  }
}
