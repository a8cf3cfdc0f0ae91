internal import CSignalSafe
internal import IntermediateDump

/// Writes the C++ exception that the crashing thread is handling, if the process crashed by SIGABRT.
///
/// If the thread is handling several exceptions, this is the one that it caught last. If a process aborts because of an
/// uncaught exception, the thread is handling that exception, because it counts as caught by std::terminate().
///
/// This section reads the exception's text where libstdc++ stores it. The function what() is not called, because it may
/// be the program's own code. Only exceptions thrown through libstdc++ are supported.
///
/// RUNS-DURING-CRASH. Source: Itanium C++ ABI: Exception Handling, 2.2.1 and 2.2.2; libstdc++
/// libsupc++/unwind-cxx.h.
@c(pm_write_cxx_exception) @_noLocks
func pm_write_cxx_exception(_ argument: UnsafeMutableRawPointer) {
  unsafe Capture(argument).writeCxxException(typeLimit: 1024, messageLimit: 4096)
}

extension Capture {
  /// Writes the exception with at most the given numbers of bytes of its type's name and of its text.
  @_noLocks
  func writeCxxException(typeLimit: Int, messageLimit: Int) {
    guard session.request.isCrash, session.exception.signal.number == SIGABRT else { return }
    let facts = installed.runtime.exceptions
    let (memory, text) = (cachedMemory, cachedRegions)
    guard facts.globals_offset != 0 else { return }
    let globals = pm_thread_pointer() &+ UInt64(bitPattern: facts.globals_offset)
    guard let object = thrownObject(globals, memory),
      let type = memory.word(object &- ThrownException.headerSize),
      let name = memory.word(type &+ 8)
    else { return }
    writer.startMap(.cxxException)
    text.writeText(.cxxTypeName, at: name, limit: typeLimit)
    let exception = unsafe ThrownException(
      memory: memory, facts: facts, scratch: session.scratch.address)
    if !installed.isSanitized, let message = exception.message(of: object, type: type) {
      text.writeText(.cxxMessage, at: message, limit: messageLimit)
    }
    writer.end()
  }
}

/// The address of the exception object that the thread caught last and is still handling.
///
/// The result is nil if the thread is handling no exception, if another runtime threw it, or if it cannot be read.
private func thrownObject(_ globals: UInt64, _ memory: SafeMemory) -> UInt64? {
  guard let header = memory.word(globals), header != 0,
    let exceptionClass = memory.word(header &+ 80)
  else { return nil }
  // The exception class is "GNUCC++" and a zero byte. In an exception that refers to another exception
  // (std::rethrow_exception), the last byte is 1.
  if exceptionClass == 0x474E_5543_432B_2B00 { return header &+ ThrownException.headerSize }
  return exceptionClass == 0x474E_5543_432B_2B01 ? memory.word(header) : nil
}

/// Finds the text in a thrown object with the help of its type descriptors (RTTI).
///
/// RUNS-DURING-CRASH. Source: Itanium C++ ABI, 2.9.5 (RTTI layout).
@safe
private struct ThrownException {
  /// The size of libstdc++'s `__cxa_exception`, which precedes the object, and whose first word points to the
  /// object's type.
  fileprivate static var headerSize: UInt64 { 112 }
  /// The limit on the depth of the search through base classes; a step from a class with several bases counts as
  /// `severalBasesDepth`.
  private static var depthLimit: Int { 16 }
  private static var severalBasesDepth: Int { 6 }

  let memory: SafeMemory
  let facts: pm_exception_facts
  let scratch: UnsafeMutableRawPointer

  /// The address of the exception's text; nil if its type stores no text, if its layout is not known, or if it cannot
  /// be read.
  fileprivate func message(of object: UInt64, type: UInt64) -> UInt64? {
    // A thrown C string or std::string: both begin with a pointer to the text.
    if isNamed(type, "PKc") || isNamed(type, "Pc")
      || isNamed(type, "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")
    {
      return memory.word(object)
    }
    guard let offset = offsetOfStandardError(in: type) else { return nil }
    // In a std::runtime_error or std::logic_error, the pointer to the text follows the pointer to the virtual
    // functions.
    return memory.word(object &+ offset &+ 8)
  }

  /// The offset of the base class std::runtime_error or std::logic_error in an object of a derived class.
  ///
  /// - Parameter depth: the depth of the search so far. A step from a class with several bases adds
  ///   `severalBasesDepth` instead of 1, so that few types are read even if the type descriptors are damaged.
  private func offsetOfStandardError(in type: UInt64, depth: Int = 0) -> UInt64? {
    guard depth < ThrownException.depthLimit, let kind = memory.word(type), kind != 0 else {
      return nil
    }
    if isStandardError(type) { return 0 }
    guard let word = memory.word(type &+ 16) else { return nil }
    if kind == facts.single_base_class {
      return offsetOfStandardError(in: word, depth: depth &+ 1)
    }
    guard kind == facts.several_bases_class else { return nil }
    // The low half of the word holds the flags, the high half the number of bases.
    let end = type &+ 24 &+ 16 &* (word &>> 32 < 8 ? word &>> 32 : 8)
    var entry = type &+ 24
    while entry < end {
      // A virtual base is skipped, because the type descriptor does not contain its offset in the object.
      if let base = memory.word(entry), let flags = memory.word(entry &+ 8), flags & 1 == 0,
        let offset = offsetOfStandardError(
          in: base, depth: depth &+ ThrownException.severalBasesDepth)
      {
        return (flags &>> 8) &+ offset
      }
      entry &+= 16
    }
    return nil
  }

  private func isStandardError(_ type: UInt64) -> Bool {
    isNamed(type, "St13runtime_error") || isNamed(type, "St11logic_error")
  }

  private func isNamed(_ type: UInt64, _ name: StaticString) -> Bool {
    guard let address = memory.word(type &+ 8) else { return false }
    let count = name.utf8CodeUnitCount
    return unsafe memory.copyText(address, to: scratch, limit: count &+ 1) == count
      && Bytes(scratch, count: count).text.matches(name)
  }
}
