internal import ProcessSnapshot

/// Follows the async contexts of a task through captured memory.
///
/// A context begins with the address of the caller's context and the code address at which the caller continues. The
/// innermost one is below the frame pointer's target, or in the register that it was passed in.
///
/// Source: swift include/swift/ABI/Task.h, class AsyncContext; LLVM docs/LangRef, `swiftasync`.
struct AsyncContexts {
  /// The maximum number of contexts that are followed.
  private static let limit = 65_536
  /// The maximum number of words of the function's stack that are tried.
  private static let wordLimit = 256

  let process: UnwindProcess

  /// Finds the callers' resume addresses, innermost first; nil if no context was found.
  ///
  /// - Parameters:
  ///   - state: a function of the task.
  ///   - end: the stack pointer of its caller; nil if it is not known.
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
      // In a context made for a call, this function is the caller; the function's own context comes next.
      if let first = chain.addresses.first, own != nil, process.asyncFunction(first) == own {
        return self.chain(from: Address(process.word(at: place) ?? 0))
      }
      return chain
    }
    return nil
  }

  /// Lists preserved registers, then the words of the function's stack.
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
    /// True if it ends in memory that is not in the dump.
    var isCut = false
  }

  /// Follows a chain; nil if there is no context at the address.
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
      // Many words point to code, but the word of a context points into an asynchronous function.
      if chain.addresses.isEmpty, !process.isAsynchronous(resume) { return nil }
      chain.addresses.append(resume)
      context = Address(parent)
    }
    return chain.addresses.isEmpty ? nil : chain
  }
}
