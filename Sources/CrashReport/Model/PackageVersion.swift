/// The version of this package, which `.ci/release` compares with the tag: here and nowhere else.
package enum PackageVersion {
  package static let version = "1.0.0"
}
