internal import ProcessSnapshot

/// Follows the function frames of a task through captured memory.
///
/// An asynchronous function's frame begins with its caller's and the address at which the caller
/// goes on. Where the innermost one is, the processor's registers tell: the function keeps it where
/// its frame pointer points at, or in the register that it came in.
///
/// Source: swift include/swift/ABI/Task.h, class AsyncContext; LLVM docs/LangRef, `swiftasync`.
struct AsyncContexts {
  /// Frames that are followed.
  private static let limit = 65_536
  /// Words of an asynchronous function's part of the stack that are tried.
  private static let wordLimit = 256

  let process: UnwindProcess

  /// The callers' resume addresses, innermost first; nil where no frame was found.
  ///
  /// - Parameters:
  ///   - state: a function of the task.
  ///   - end: the stack pointer of its caller; nil if it is not known.
  func callers(of state: UnwindState, end: Address?) -> Chain? {
    // Where it must be, first.
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
      // A frame made for a call has this function as the caller; its own is the next.
      if let first = chain.addresses.first, own != nil, process.asyncFunction(first) == own {
        return self.chain(from: Address(process.word(at: place) ?? 0))
      }
      return chain
    }
    return nil
  }

  /// Registers that outlive calls, then the function's part of the stack.
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
    /// True if memory of it is not in the dump.
    var isCut = false
  }

  /// Nil for a place where no function's frame is.
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
      // A word that points at code is on many a stack; the caller of a function of a task is one.
      if chain.addresses.isEmpty, !process.isAsynchronous(resume) { return nil }
      chain.addresses.append(resume)
      context = Address(parent)
    }
    return chain.addresses.isEmpty ? nil : chain
  }
}
