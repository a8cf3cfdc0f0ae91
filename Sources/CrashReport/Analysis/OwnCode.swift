package import ProcessSnapshot
package import Stackwalk

/// Tells the program's own code from the system's, for forms of a report outside this module.
package struct OwnCode: Sendable {
  private let signature: Signature

  /// - Parameter modules: those that the frames lie in.
  package init(_ modules: [ModuleSnapshot]) { signature = Signature(modules) }

  /// True for a call of the program's own, as text and page show them.
  package func contains(_ frame: StackFrame) -> Bool { signature.standsOut(frame) }
}
