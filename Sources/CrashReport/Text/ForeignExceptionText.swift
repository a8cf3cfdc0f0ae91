internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

extension ForeignException {
  /// The exception as text, for example "EXCEPTION_ACCESS_VIOLATION (0xc0000005) of Windows".
  var text: String {
    let number = Address(UInt64(code)).description
    let detail = detail.map { ", \($0)" } ?? (flags == 0 ? "" : ", flags \(Address(UInt64(flags)))")
    return (name.map { "\($0) (\(number))" } ?? "exception \(number)") + detail
      + " of \(system.name)"
  }

  /// One sentence that explains the exception, made only from the exception's data.
  ///
  /// - Parameter address: the address of the exception.
  func sentence(at address: Address?) -> String {
    let place = address.map { " \($0)" } ?? ""
    let what =
      switch access {
      case .read: ": a read of\(place)."
      case .write: ": a write to\(place)."
      case .execute: ": an execution of\(place)."
      case nil: address.map { ", at \($0)." } ?? "."
      }
    return "The process ended by \(text)\(what)"
  }
}
