import DumpInspection
import IntermediateDump
import ProcessSnapshot
import Testing

/// Every key of the schema is bound to a property with the kinds and the size that the schema declares.
@Suite struct FieldTests {
  private let bound =
    ProcessSnapshot.mapFields.keys + ExceptionSnapshot.mapFields.keys
    + ThreadSnapshot.mapFields.keys

  @Test func keysHaveTheKindAndSizeOfTheSchema() {
    for bound in bound {
      let definition = bound.key.definition
      #expect(bound.kinds.contains(definition.kind), "\(bound.key)")
      if let size = bound.size { #expect(definition.size == size, "\(bound.key)") }
    }
  }

  @Test func everyKeyIsReadSomewhere() {
    // Keys with separate code, because they need more than one map.
    let others: Set<IntermediateDumpKey> = [
      .exception, .threads, .thread, .crashingThread, .generalRegisters, .floatingPointState,
      .stack,
      .stackWords, .stackRegionEnd, .memory, .memoryRegion, .regionData, .mappings, .mappingsChunk,
      .mappingsText,
      .modules, .module, .moduleAddress, .modulePath, .moduleBuildID, .moduleProgramHeaders,
      .moduleSize, .moduleSource, .annotation, .annotationName, .annotationValue, .annotationData,
      .symbol,
    ]
    // The keys of run records.
    let owners = IntermediateDumpKey.allCases.filter {
      (1000...1006).contains($0.rawValue) || (1205...1212).contains($0.rawValue)
        || (1450...1463).contains($0.rawValue)
    }
    let known = Set(bound.map(\.key)).union(others).union(owners)
    #expect(Set(IntermediateDumpKey.allCases).subtracting(known).isEmpty)
  }
}
