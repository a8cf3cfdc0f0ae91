/// The version of this package.
///
/// It is defined only here; `.ci/release` compares it with the tag.
package enum PackageVersion {
  package static let version = "1.0.0"
}
