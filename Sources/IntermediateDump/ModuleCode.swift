/// Provides an address inside this module's code, some of which runs during a crash.
package enum ModuleCode {
  /// A function of this module that does nothing.
  package static var place: @convention(c) () -> Void { @inline(never) get { {} } }
}
