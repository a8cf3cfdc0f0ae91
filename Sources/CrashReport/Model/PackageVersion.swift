/// The version of this package.
///
/// The version is defined only here; `.ci/release` compares it with the tag.
package enum PackageVersion {
  package static let version = "1.0.0"
}
