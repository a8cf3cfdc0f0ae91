import CrashCatalogue
import CrashTestSupport
import Foundation
import Testing

/// The catalogue's document agrees with its code.
@Suite struct CatalogueDocumentTests {
  @Test func itNamesEveryGroupOfConditionsAndEveryPairThatIsLeftOut() throws {
    let page = try String(
      contentsOfFile: BuiltProducts.packageRoot + "/Docs/Catalogue.md", encoding: .utf8)
    for group in CrashCondition.Group.allCases {
      #expect(page.contains("\n| \(group.rawValue) | "), "\(group.rawValue)")
    }
    for line in CatalogueTable.omissions.split(separator: "\n") {
      #expect(page.contains(line), "swift run proofs catalogue --full --page Docs/Catalogue.md")
    }
  }
}
