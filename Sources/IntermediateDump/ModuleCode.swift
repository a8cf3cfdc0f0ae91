/// The address of this module's code, which is also used in a crash.
package enum ModuleCode {
  /// A function of this module that does nothing.
  package static var place: @convention(c) () -> Void { @inline(never) get { {} } }
}
