/// Recognizes the functions of the Swift runtime that count references.
enum ReferenceCounting {
  /// True for a function of the runtime that counts references, or a method of the runtime's class `RefCounts`.
  static func isFunction(_ linkageName: String) -> Bool {
    function(linkageName) != nil
      || linkageName.hasPrefix("_ZN5swift9RefCountsI")
  }

  /// Source: swift stdlib/public/runtime/HeapObject.cpp.
  private static let functions: Set = [
    "swift_retain", "swift_release", "swift_retain_n", "swift_release_n", "swift_tryRetain",
    "swift_bridgeObjectRetain", "swift_bridgeObjectRelease", "swift_nonatomic_retain",
    "swift_nonatomic_release", "swift_unownedRetain", "swift_unownedRelease",
    "swift_unownedRetainStrong", "swift_unknownObjectRetain", "swift_unknownObjectRelease",
  ]

  /// The name of a function that counts references, without the underscores of internal names; nil for another function.
  static func function(_ linkageName: String) -> String? {
    let name =
      linkageName.hasPrefix("_swift_") && linkageName.hasSuffix("_")
      ? String(linkageName.dropFirst().dropLast()) : linkageName
    return functions.contains(name) ? name : nil
  }
}
