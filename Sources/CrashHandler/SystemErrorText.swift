internal import Glibc

/// The system's words for an error number.
///
/// Source: strerror(3).
func systemErrorText(_ errno: Int32) -> String { unsafe String(cString: strerror(errno)) }
