internal import IntermediateDump
package import ProcessSnapshot

extension ProcessSnapshot {
  /// The signal, its code and its address, as evidence.
  var signalEvidence: [Evidence] {
    guard let exception, let signal = exception.signal else { return [] }
    return [.signal(signal, code: exception.code, exception.address)]
  }
}

extension ExceptionSnapshot {
  /// The process that sent the signal, with the process's name and the signal's code; nil if no sender is known.
  package var namedSender: Cause.Sender? {
    sender.map {
      Cause.Sender(processID: $0.processID, userID: $0.userID, name: senderName, code: code)
    }
  }

  /// The message of the Swift runtime; nil if there is none, or if it consists only of white space.
  var swiftMessage: String? { fatalMessage?.trimmed }

  /// The message that libc stores when it aborts the process, such as that of a failed `assert`; nil if there is none,
  /// or if it consists only of white space.
  var libraryMessage: String? { abortMessage?.trimmed }
}

extension String {
  /// The text without white space at both ends; nil if nothing is left.
  var trimmed: String? {
    let text = withoutOuterWhitespace
    return text.isEmpty ? nil : text
  }
}
