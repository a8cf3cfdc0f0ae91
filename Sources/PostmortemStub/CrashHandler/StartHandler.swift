/// Always throws, because the crash handler needs Linux with glibc, and this program was built for another system.
///
/// - Throws: `CrashHandlerError` always, with the code `unsupportedPlatform`.
@discardableResult
public func startHandler(
  database: String,
  identifier: String? = nil,
  product: String? = nil,
  version: String? = nil,
  environment: String? = nil,
  annotations: [String: String] = [:],
  options: HandlerOptions = HandlerOptions()
) throws(CrashHandlerError) -> Handler {
  throw .unsupportedHere
}

extension CrashHandlerError {
  package static let unsupportedHere = CrashHandlerError(
    .unsupportedPlatform,
    "this program was not built for Linux with glibc; POSTMORTEM_PLATFORM=linux builds for it")
}

/// The text for an error number.
///
/// Some source files are compiled on every system and need this function. On this system, no error contains an error
/// number, so the text is never shown.
func systemErrorText(_ errno: Int32) -> String { "error \(errno)" }
