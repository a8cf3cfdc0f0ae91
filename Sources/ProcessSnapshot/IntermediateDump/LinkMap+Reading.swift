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
        address: entry.unsigned(.linkAddress) ?? 0,
        dynamicSection: entry.unsigned(.linkDynamic) ?? 0,
        name: entry.text(.linkName) ?? "")
    }
  }

  /// Takes what a map has of the fields that are single numbers.
  mutating func overlay(_ map: IntermediateDumpMap) {
    version = map.unsigned32(.linkVersion) ?? version
    state = map.unsigned32(.linkState) ?? state
    breakpoint = map.unsigned(.linkBreakpoint) ?? breakpoint
    loaderBase = map.unsigned(.linkLoaderBase) ?? loaderBase
    debugAddress = map.unsigned(.linkDebugAddress) ?? debugAddress
    dynamicSection = map.unsigned(.dynamicSection) ?? dynamicSection
  }
}
