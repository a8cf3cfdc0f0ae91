internal import IntermediateDump

extension ProcessSnapshot {
  /// All parts of a dump that can be read one map of keys and values at a time, in the order in which they are written.
  ///
  /// The parts that are needed to list many dumps come first.
  package static let mapFields = MapFields(
    ProcessSnapshot(architecture: .x86_64), beforeThreads + afterThreads)

  /// The maps that are written before the exception, the threads and the modules.
  static let beforeThreads: [Field<ProcessSnapshot>] = [
    .group(
      .process,
      [.optional(.reportID, \.reportID), .optional(.dumpDigest, \.dumpDigest)]
        + Field.within(\.process, ProcessDescription.mapFields)),
    .map(.survival, \.survival, Survival.mapFields),
    .map(.dumpRequest, \.request, DumpRequest.mapFields),
    .map(.runEnd, \.end, RunEnd.mapFields),
    .map(.verdict, \.storedVerdict, StoredVerdict.mapFields),
  ]

  /// The maps that are written after the exception, the threads and the modules.
  static let afterThreads: [Field<ProcessSnapshot>] =
    [
      .map(.linkMap, \.linkMap, LinkMap.mapFields),
      .map(.cxxException, \.cxxException, CxxException.mapFields),
      .group(.system, Field.within(\.system, SystemDescription.mapFields)),
      annotations(\.launchAnnotations),
    ] + Field.within(\.client, ClientInformation.mapFields) + [
      .array(.tasks, of: .task, \.tasks, TaskSnapshot.mapFields),
      Field(.allTasks, [.bytes]) { map, snapshot in
        snapshot.allTasks = map.data(.allTasks).flatMap { AllTasks(bytes: Array($0)) }
        return snapshot.allTasks != nil
      } write: { snapshot, writer in
        writer.write(.allTasks, snapshot.allTasks?.bytes)
      },
      .optional(.taskLayoutVersion, \.unknownTaskLayout),
      .array(.fileLocks, of: .fileLock, \.fileLocks, FileLockWait.mapFields),
      .array(.throwRecords, of: .throwRecord, \.recordedThrows, ThrowSnapshot.mapFields),
      .group(.capture, Field.within(\.capture, CaptureQuality.mapFields)),
      .group(
        .conversion,
        [
          .optional(.clientID, \.clientID),
          annotations(\.addedAnnotations),
          .array(.symbols, of: .symbol, \.symbolEntries, StoredSymbols.Entry.mapFields),
        ]),
    ]

  /// Annotations by name; if two have the same name, the first one is used.
  private static func annotations(
    _ path: Field<ProcessSnapshot>.Path<[String: String]>
  ) -> Field<ProcessSnapshot> {
    Field(.annotations, [.array]) { map, snapshot in
      let maps = map.elements(.annotations)
      for map in maps {
        guard let name = map.text(.annotationName), let value = map.text(.annotationValue) else {
          continue
        }
        if snapshot[keyPath: path][name] == nil { snapshot[keyPath: path][name] = value }
      }
      return !maps.isEmpty
    } write: { snapshot, writer in
      let annotations = snapshot[keyPath: path].sorted { $0.key < $1.key }.map {
        ClientAnnotation(name: $0.key, value: .text($0.value))
      }
      writer.array(.annotations, of: .annotation, annotations, ClientAnnotation.simpleFields)
    }
  }
}
