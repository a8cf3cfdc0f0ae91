/// The address of this module's code, which a crash uses too.
package enum ModuleCode {
  /// A function of this module that does nothing.
  package static var place: @convention(c) () -> Void { @inline(never) get { {} } }
}
