/// Named texts that reports from dumps of this process show; unlike with `Annotation`, the names can be computed at run
/// time.
///
/// The whole process shares these values; for a value that belongs to one request, use `withContext`.
///
/// There is room for 64 names. `set` and `remove` never lock. Any number of threads can call these functions at the
/// same time, even before `startHandler`. Both functions search all names, so setting an `Annotation` is faster. If
/// the process crashes during a call, reports show either the complete old value or the complete new one. A forked
/// child gets a copy of the values, and changes only its copy. These values replace values passed to
/// `startHandler(annotations:)` under the same names. If `HandlerOptions.privacy` is not `full`, dumps leave out all
/// these values.
///
/// Source: Crashpad `client/simple_string_dictionary.h`.
public enum SimpleAnnotations {
  /// The maximum length in bytes of a name, and of a value.
  public static let maximumLength = 255

  /// Sets the value of a name.
  ///
  /// - Parameters:
  ///   - name: 1 to 255 bytes.
  ///   - value: the text; a text of more than 255 bytes is cut.
  /// - Returns: false if the name is empty or too long, if there are already 64 other names, or if other threads
  ///   are setting this name and use all of its buffers. Reports state how often there was no room for a name.
  @discardableResult
  public static func set(_ name: String, _ value: String) -> Bool {
    guard isName(name) else { return false }
    return unsafe ClientText.withBytes(of: name, atMost: maximumLength) { key, keyCount in
      unsafe ClientText.withBytes(of: value, atMost: maximumLength) { bytes, count in
        unsafe ClientMemory.ofProcess.simpleAnnotations.set(
          key: key, keyCount: keyCount, value: bytes, valueCount: count)
      }
    }
  }

  /// Removes a name and its value; does nothing if the name is not set.
  public static func remove(_ name: String) {
    guard isName(name) else { return }
    unsafe ClientText.withBytes(of: name, atMost: maximumLength) { key, keyCount in
      unsafe ClientMemory.ofProcess.simpleAnnotations.remove(key: key, keyCount: keyCount)
    }
  }

  private static func isName(_ name: String) -> Bool {
    (1...maximumLength).contains(name.utf8.count)
  }
}
