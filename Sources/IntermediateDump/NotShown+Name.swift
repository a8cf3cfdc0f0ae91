extension NotShown {
  /// The name of the part, such as "threads".
  package var name: String { self == .descriptors ? "open files" : "\(self)" }
}
