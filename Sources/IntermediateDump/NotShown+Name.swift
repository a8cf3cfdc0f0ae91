extension NotShown {
  /// The name of the part of a report that is not shown, such as "threads".
  package var name: String { self == .descriptors ? "open files" : "\(self)" }
}
