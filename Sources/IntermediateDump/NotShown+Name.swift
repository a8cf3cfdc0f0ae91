extension NotShown {
  /// The name of the part that `/proc` did not show, such as "threads".
  package var name: String { self == .descriptors ? "open files" : "\(self)" }
}
