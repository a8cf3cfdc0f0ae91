// The Swift version of module.c.

/// Puts a frame of this module on the stack of the crash.
@_cdecl("crashlab_module_call")
public func call(
  _ body: @convention(c) (UnsafeMutableRawPointer?) -> Void, _ context: UnsafeMutableRawPointer?
) {
  body(context)
  keep(1)
}

@inline(never) @_optimize(none)
func keep(_ value: Int) {}
