/// The order of a module's folders: each folder uses only folders after it.
struct FolderOrder {
  /// The path relative to the package's root.
  let directory: String
  let order: [String]
  /// The folder of a path below the directory.
  let folder: @Sendable (String) -> String

  init(
    _ directory: String, _ order: [String], _ folder: @escaping @Sendable (String) -> String
  ) {
    self.directory = directory
    self.order = order
    self.folder = folder
  }

  /// The source texts of the module, by their paths below the directory.
  func sources() throws -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: try House.swiftFiles(in: directory).map { file in
        (String(file.path.dropFirst(directory.count + 1)), file.text)
      })
  }

  /// The uses of a declaration in a folder before the user's own folder.
  func violations(_ references: SwiftReferences) -> [String] {
    var found: [String] = []
    for use in references.uses {
      guard let user = order.firstIndex(of: folder(use.file)),
        let used = order.firstIndex(of: folder(use.other))
      else {
        found.append("\(use.file) or \(use.other) is in no folder of the list")
        continue
      }
      if used < user { found.append("\(use.file) uses \(use.name) of \(use.other)") }
    }
    return found.sorted()
  }
}
