/// Provides an address inside this module's code, so that the handler can bring the code into memory before a crash.
package enum ModuleCode {
  /// A function of this module that does nothing.
  package static var place: @convention(c) () -> Void { @inline(never) get { {} } }
}
