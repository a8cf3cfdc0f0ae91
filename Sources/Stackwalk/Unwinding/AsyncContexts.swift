internal import ProcessSnapshot

/// Follows the chain of a task's async contexts through captured memory, to find suspended callers.
///
/// A context begins with the address of the caller's context, followed by the code address at which the caller will
/// continue. The address of the innermost context is usually in the word below the frame record, or in the register in
/// which it was passed.
///
/// Source: swift include/swift/ABI/Task.h, class AsyncContext; LLVM docs/LangRef, `swiftasync`.
struct AsyncContexts {
  /// The maximum number of contexts that are followed.
  private static let limit = 65_536
  /// The maximum number of words of the function's frame that are tried as addresses of a context.
  private static let wordLimit = 256

  let process: UnwindProcess

  /// Finds the addresses at which the callers will continue, innermost first; nil if no context was found.
  ///
  /// - Parameters:
  ///   - state: the frame of an asynchronous function of the task.
  ///   - end: the stack pointer of the frame's caller, which is where the frame ends; nil if it is not known.
  func callers(of state: UnwindState, end: Address?) -> Chain? {
    if let frame = state.registers.framePointer,
      let place = process.word(at: frame &- 8), let chain = chain(from: Address(place))
    {
      return chain
    }
    if let place = state.registers[process.registers.asyncContext],
      let chain = chain(from: Address(place))
    {
      return chain
    }
    let own = state.lookupAddress.flatMap(process.asyncFunction)
    for place in candidates(state, end) {
      guard let chain = chain(from: place) else { continue }
      // The context may have been made for a call from this function. Such a context names this function as the
      // caller, and the next context is the function's own.
      if let first = chain.addresses.first, own != nil, process.asyncFunction(first) == own {
        return self.chain(from: Address(process.word(at: place) ?? 0))
      }
      return chain
    }
    return nil
  }

  /// Lists the values that may be the address of a context: preserved registers, then the words of the function's
  /// frame.
  private func candidates(_ state: UnwindState, _ end: Address?) -> [Address] {
    var places = (0..<process.registers.count).filter(process.registers.isPreserved)
      .compactMap { state.registers[$0].map { Address($0) } }
    guard let start = state.registers.stackPointer, let size = end?.distance(above: start) else {
      return places
    }
    for index in 0..<min(Int(clamping: size / 8), Self.wordLimit) {
      guard process.spend(1), let word = process.word(at: start &+ UInt64(index * 8)) else { break }
      places.append(Address(word))
    }
    return places
  }

  struct Chain {
    var addresses: [Address] = []
    /// True if the next context could not be read, usually because its memory is not in the dump.
    var isCut = false
  }

  /// Follows the chain of async contexts that begins at `place`; nil if there is no context at this address.
  private func chain(from place: Address) -> Chain? {
    var chain = Chain()
    var context = place
    var seen: Set<Address> = []
    while context != 0, chain.addresses.count < Self.limit {
      guard context.value & 7 == 0, process.spend(1), let parent = process.word(at: context),
        let resume = process.word(at: context &+ 8).map(process.codeAddress)
      else {
        chain.isCut = true
        break
      }
      guard process.isExecutable(resume), seen.insert(context).inserted else { return nil }
      // Many words point to code, so the first context counts only if its second word points into an asynchronous
      // function.
      if chain.addresses.isEmpty, !process.isAsynchronous(resume) { return nil }
      chain.addresses.append(resume)
      context = Address(parent)
    }
    return chain.addresses.isEmpty ? nil : chain
  }
}
