/// The threads on which requests are made.
///
/// Threads that libcurl creates, for example to resolve names, inherit the name.
package enum UploaderThread {
  /// The name, from which a conversion recognizes a crash of the uploader; at most 15 bytes.
  package static let name = "pm-uploader"
}
