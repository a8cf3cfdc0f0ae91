internal import CrashAnalysis

/// The version of this package; until the release, that of the release to come, marked `dev`.
///
/// The version is defined only here; `.ci/release` compares it with the tag.
package enum PackageVersion {
  package static let version = "1.0.0-dev"
}
