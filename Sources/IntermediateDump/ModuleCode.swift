/// Where the code of this module lies, which is in the crash path too.
package enum ModuleCode {
  /// A function of this module; it does nothing.
  package static var place: @convention(c) () -> Void { @inline(never) get { {} } }
}
