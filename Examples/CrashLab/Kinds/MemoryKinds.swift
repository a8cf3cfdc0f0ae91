internal import CCrashLab
internal import Glibc

// Accesses to memory that is not mapped, or that lacks the permission for the access.

extension CrashKind {
  static let memoryKinds: [CrashKind] = [
    CrashKind("null-read") { crash_null_read() },
    CrashKind("null-write") { crash_null_write() },
    CrashKind("null-call") { crash_null_call() },
    CrashKind("wild-pointer") { crash_wild_pointer() },
    CrashKind("non-canonical") { crash_non_canonical() },
    CrashKind("execute-data") { crash_execute_data() },
    CrashKind("write-to-code") { crash_write_to_code() },
    CrashKind("freed-page") { crash_freed_page() },
    CrashKind("prot-none") { crash_prot_none() },
  ]
}

// Each function accesses a different type: the optimizer would merge functions that differ only in a constant, and
// the frame would have the name of another function.

@inline(never)
func crash_null_read() {
  let value = unsafe place(at: 0, of: UInt64.self).pointee
  print(value)
}

@inline(never)
func crash_null_write() {
  unsafe place(at: 0, of: UInt64.self).pointee = 1
  stayOnTheStack()
}

@inline(never)
func crash_wild_pointer() {
  unsafe place(at: 0x1234_5678_9ab0, of: UInt32.self).pointee = 1
  stayOnTheStack()
}

@inline(never)
func crash_non_canonical() {
  let value = unsafe place(at: 0xdead_beef_dead_beef, of: UInt8.self).pointee
  print(value)
}

@inline(never)
func crash_write_to_code() {
  let function: @convention(c) () -> Void = crash_breakpoint
  let code = unsafe unsafeBitCast(function, to: UInt.self)
  unsafe place(at: code, of: UInt16.self).pointee = 0
  stayOnTheStack()
}

@inline(never)
func crash_freed_page() {
  let page = mapPage(PROT_READ | PROT_WRITE)
  unsafe munmap(crashlab_address(page), 4096)
  let value = unsafe place(at: page + 16, of: UInt64.self).pointee
  print(value)
}

@inline(never)
func crash_prot_none() {
  let page = mapPage(PROT_NONE)
  let value = unsafe place(at: page + 16, of: UInt32.self).pointee
  print(value)
}

/// A typed pointer; at -Onone, an untyped access would crash in a function of the Swift runtime instead.
@inline(__always)
func place<Value>(at address: UInt, of type: Value.Type) -> UnsafeMutablePointer<Value> {
  unsafe crashlab_address(address).assumingMemoryBound(to: type)
}

private func mapPage(_ protection: Int32) -> UInt {
  let page = unsafe mmap(nil, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
  return UInt(bitPattern: page)
}

/// Called as the last statement, prevents a tail call, which would remove the calling function from the stack.
@inline(never) @_optimize(none)
func stayOnTheStack() {}
