internal import CUploadTransfer
internal import Synchronization

/// Chooses the libcurl that requests use.
enum TransferLibrary {
  /// The names of libcurl with OpenSSL, GnuTLS and NSS.
  private static let names = ["libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"]
  /// A function that libcurl has from version 7.68 on.
  private static let newestFunction = "curl_multi_wakeup"
  /// The library that was found last, if its bindings cannot change after it is loaded.
  private static let found = Mutex<SharedLibrary?>(nil)

  /// Finds a libcurl that can be loaded into this process, or that the program has loaded, without loading it.
  ///
  /// The answer can change when the program loads a plugin, so it is kept only from the first transfer on, which loads
  /// the library.
  ///
  /// - Throws: `UploadError` with the code `noTransport`, and the obstacle to loading the first libcurl that is
  ///   installed.
  static func find() throws(UploadError) -> SharedLibrary {
    if pm_transfer_has_library() == 1, let library = found.withLock(\.self) { return library }
    var obstacle: LibraryObstacle?
    for name in names {
      do throws(LibraryObstacle) {
        let closure = try LibraryClosure(of: name)
        guard closure.library.definitions.contains(where: { $0.name == newestFunction }) else {
          throw .tooOld(name)
        }
        try closure.checkBindings()
        if closure.keepsBindings { found.withLock { $0 = closure.library } }
        return closure.library
      } catch {
        if obstacle == nil || obstacle == .missing(names[0]) { obstacle = error }
      }
    }
    found.withLock { $0 = nil }
    throw UploadError(.noTransport, (obstacle ?? .missing(names[0])).description)
  }
}
