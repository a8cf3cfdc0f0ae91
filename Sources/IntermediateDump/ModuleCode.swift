/// Provides an address inside this module's code, so that the handler can bring the code into memory before a crash.
package enum ModuleCode {
  /// A function that does nothing; its address is inside this module's code.
  package static var place: @convention(c) () -> Void { @inline(never) get { {} } }
}
