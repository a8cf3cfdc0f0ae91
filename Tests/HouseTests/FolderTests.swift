import CrashTestSupport
import Foundation
import Testing

/// The folders of `CrashHandler` and their one direction.
@Suite("Folders of the handler")
struct FolderTests {
  /// Each uses those behind it, and none before it; the empty name stands for the calls that are public.
  private static let order = [
    "", "LiveDumps", "Client", "Install", "Signals", "Capture", "Summary", "Stopping", "System",
    "State", "Interface", "Values",
  ]
  private static let directory = "Sources/CrashHandler"

  private static func folder(of path: String) -> String {
    let parts = path.split(separator: "/")
    // `Status` has calls of the program too.
    return parts.count == 1 || parts[0] == "Status" ? "" : String(parts[0])
  }

  private static let sources = Result {
    Dictionary(
      uniqueKeysWithValues: try House.swiftFiles(in: directory).map { file in
        (String(file.path.dropFirst(directory.count + 1)), file.text)
      })
  }
  private static let references = sources.map { SwiftReferences($0) }

  /// The uses of a folder that stands before the user's own.
  private static func violations(
    _ references: SwiftReferences, order: [String] = order
  ) -> [String] {
    var found: [String] = []
    for use in references.uses {
      guard let user = order.firstIndex(of: folder(of: use.file)),
        let used = order.firstIndex(of: folder(of: use.other))
      else {
        found.append("\(use.file) or \(use.other) is in no folder of the list")
        continue
      }
      if used < user { found.append("\(use.file) uses \(use.name) of \(use.other)") }
    }
    return found.sorted()
  }

  @Test("The folders have one direction")
  func direction() throws {
    let sources = try Self.sources.get()
    #expect(sources.count > 100)
    #expect(Set(sources.keys.map(Self.folder(of:))) == Set(Self.order))
    let references = try Self.references.get()
    // A checker that sees nothing finds nothing.
    #expect(references.uses.count > 500)
    #expect(Self.violations(references) == [])
  }

  @Test("No more than eight files reach each other in a circle")
  func circles() throws {
    let circles = try Self.references.get().circles
    #expect(circles.filter { $0.count > 8 } == [])
  }

  @Test("Design.md has the folders in this order")
  func document() throws {
    let text = try House.text("Docs/Design.md")
    let picture = text.matches(of: #/(?m)^CrashHandler\/(\w*) +\S/#).map { String($0.1) }
    #expect(picture == Self.order)
  }

  @Test("An arrow that is turned around is found, by type, function, symbol of C and member")
  func turnedAround() {
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

  @Test("Of the real files, too: in the opposite order every arrow is wrong")
  func opposite() throws {
    let references = try Self.references.get()
    let across = references.uses.filter { Self.folder(of: $0.file) != Self.folder(of: $0.other) }
    #expect(Self.violations(references, order: Self.order.reversed()).count == across.count)
  }
}
