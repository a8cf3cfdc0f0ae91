import Testing

/// Checks the order of the folders of modules.
@Suite struct FolderTests {
  /// Each folder uses only folders after it; the empty name stands for the public functions.
  private static let order = [
    "", "LiveDumps", "Client", "Install", "Signals", "Capture", "Summary", "Stopping", "System",
    "State", "Interface", "Values",
  ]
  private static let folders = FolderOrder("Sources/CrashHandler", order) { path in
    let parts = path.split(separator: "/")
    // `Status` has public functions, too.
    return parts.count == 1 || parts[0] == "Status" ? "" : String(parts[0])
  }
  private static let sources = Result { try folders.sources() }
  private static let references = sources.map { SwiftReferences($0) }

  private static func violations(_ references: SwiftReferences) -> [String] {
    folders.violations(references)
  }

  @Test func theFoldersHaveOneDirection() throws {
    let sources = try Self.sources.get()
    #expect(sources.count > 100)
    #expect(Set(sources.keys.map(Self.folders.folder)) == Set(Self.order))
    let references = try Self.references.get()
    // Finding no uses at all would pass, too.
    #expect(references.uses.count > 500)
    #expect(Self.violations(references) == [])
  }

  /// The modules that read dumps and have an order of folders.
  private static let readers = [
    FolderOrder(
      "Sources/CrashAnalysis",
      ["Report", "Places", "Analysis", "Waits", "Objects", "OwnCode", "Model"]
    ) { String($0.prefix { $0 != "/" }) },
    FolderOrder("Sources/CrashReport", ["HTML", "JSON", "Text", ""]) {
      $0.contains("/") ? String($0.prefix { $0 != "/" }) : ""
    },
  ]

  @Test(arguments: readers.indices) func theFoldersOfReadersHaveOneDirection(
    _ index: Int
  ) throws {
    let folders = Self.readers[index]
    let sources = try folders.sources()
    #expect(Set(sources.keys.map(folders.folder)) == Set(folders.order))
    let references = SwiftReferences(sources)
    #expect(references.uses.count > 50)
    #expect(folders.violations(references) == [])
  }

  @Test func designMdHasTheFoldersInThisOrder() throws {
    let text = try House.text("Docs/Design.md")
    let picture = text.matches(of: #/(?m)^CrashHandler\/(\w*) +\S/#).map { String($0.1) }
    #expect(picture == Self.order)
  }

  @Test func anArrowThatIsTurnedAroundIsFoundByTypeFunctionSymbolOfCAndMember() {
    let sources = [
      "Signals/Entry.swift": """
      @c(pm_entry)
      func pm_entry() {}
      func step() {}
      struct Step {}
      extension Capture {
        // A name of one folder alone.
        func takeStep() { save() }
        private func hidden() {}
      }
      """,
      "State/Capture.swift": "struct Capture {}\nextension Capture { func save() {} }",
    ]
    #expect(Self.violations(SwiftReferences(sources)) == [])
    for use in ["Step()", "step()", "pm_entry()", "capture.takeStep()"] {
      var turned = sources
      turned["State/Table.swift"] = "struct Table { func f() { \(use) } }"
      #expect(Self.violations(SwiftReferences(turned)).count == 1, "\(use)")
    }
    for use in ["hidden()", "\"Step\"", "other()"] {
      var harmless = sources
      harmless["State/Table.swift"] = "struct Table { func f() { \(use) } } // Step"
      #expect(Self.violations(SwiftReferences(harmless)) == [], "\(use)")
    }
  }

  @Test func ofTheRealFilesTooInTheOppositeOrderEveryArrowIsWrong() throws {
    let references = try Self.references.get()
    let folders = Self.folders
    let across = references.uses.filter { folders.folder($0.file) != folders.folder($0.other) }
    let opposite = FolderOrder(folders.directory, Self.order.reversed(), folders.folder)
    #expect(opposite.violations(references).count == across.count)
  }
}
