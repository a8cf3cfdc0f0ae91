internal import ProcessSnapshot

/// Finds functions that have left the stack by a tail call.
///
/// The callee's frame may belong to a function other than the target of the call. The target then ended with a jump to
/// that function, directly or through further functions. Such a jump is a tail call. The finder searches the code in
/// the module's file for these jumps, because the Swift compiler, unlike C compilers, does not describe them in debug
/// information. If several chains of jumps are possible, only their common parts are shown.
///
/// Source: GDB manual, "Tail Call Frames"; gdb/dwarf2/loc.c, call_site_find_chain.
final class TailCallFinder {
  private let symbols: SymbolSource
  private let snapshot: ProcessSnapshot
  private let jumps = BoundedCache<Address, [TailJump]?>(limit: maximumKnown)
  private let chains = BoundedCache<Pair, [Address]>(limit: maximumKnown)

  private struct Pair: Hashable {
    let returnAddress: Address
    let callee: Address
  }

  private static let maximumKnown = 1 << 14
  /// The maximum size of a function in bytes; a larger one is not searched.
  private static let maximumSize: UInt64 = 64 << 10
  /// The maximum number of jumps in a chain, and the maximum number of jumps that are tried to find a chain.
  private static let (maximumLength, maximumTries) = (32, 1024)

  init(symbols: SymbolSource, snapshot: ProcessSnapshot) {
    self.symbols = symbols
    self.snapshot = snapshot
  }

  /// Finds the jumps that lead from the target of a call to the function of the callee's frame.
  ///
  /// - Parameters:
  ///   - returnAddress: the address after the call.
  ///   - callee: an address in the function of the callee's frame.
  /// - Returns: the addresses after the jumps, innermost first. Empty if the call leads directly to the callee's
  ///   function, or if the path is not known.
  func jumps(after returnAddress: Address, to callee: Address) -> [Address] {
    chains.value(at: Pair(returnAddress: returnAddress, callee: callee)) {
      uncachedJumps(after: returnAddress, to: callee)
    }
  }

  private func uncachedJumps(after returnAddress: Address, to callee: Address) -> [Address] {
    let size = TailJump.callSize
    let call = returnAddress.clampedSubtracting(UInt64(size))
    guard let module = snapshot.module(containing: call), module.contains(callee),
      let code = symbols.code(at: call, count: size, in: module),
      let target = TailJump.callTarget(code, at: call, snapshot.architecture),
      let first = symbols.function(at: target, in: module), first.start == target,
      let last = symbols.function(at: callee, in: module), last.start != target,
      // A `.cold` part is not the target of a tail call: compilers split it from a function, with jumps to it and
      // back.
      symbols.linkageName(of: callee, in: module)?.contains(".cold") != true
    else { return [] }
    return chain(from: first, to: last.start, in: module)
  }

  /// Returns the jumps that all chains from `first` to `callee` have in common; empty if not all chains are known.
  ///
  /// The search is depth first. A chain contains each jump at most once.
  private func chain(
    from first: AddressRange, to callee: Address, in module: ModuleSnapshot
  ) -> [Address] {
    guard let start = tailJumps(of: first, in: module) else { return [] }
    var open: [(jumps: [TailJump], next: Int)] = [(start, 0)]
    var way: [Address] = []
    var common: CommonParts?
    var tries = 0
    while let top = open.indices.last {
      guard open[top].next < open[top].jumps.count else {
        open.removeLast()
        _ = way.popLast()
        continue
      }
      let jump = open[top].jumps[open[top].next]
      open[top].next += 1
      guard !way.contains(jump.end) else { continue }
      tries += 1
      guard tries <= Self.maximumTries, symbols.limit.spend(4) else { return [] }
      if jump.target == callee {
        let found = way + [jump.end]
        common = common.map { $0.joined(with: found) } ?? CommonParts(way: found)
        guard common?.isEmpty == false else { return [] }
        continue
      }
      guard open.count < Self.maximumLength,
        let next = symbols.function(at: jump.target, in: module),
        let further = tailJumps(of: next, in: module)
      else { return [] }
      way.append(jump.end)
      open.append((further, 0))
    }
    return common?.innermostFirst ?? []
  }

  /// The jumps at the start and at the end that all chains of tail calls have in common.
  private struct CommonParts {
    private let way: [Address]
    private var head: Int
    private var tail: Int

    init(way: [Address]) { (self.way, head, tail) = (way, way.count, way.count) }

    var isEmpty: Bool { head == 0 && tail == 0 }

    func joined(with other: [Address]) -> CommonParts {
      var joined = self
      joined.head = min(head, zip(way, other).prefix { $0 == $1 }.count)
      joined.tail = min(tail, zip(way.reversed(), other.reversed()).prefix { $0 == $1 }.count)
      return joined
    }

    var innermostFirst: [Address] {
      if head == way.count { return way.reversed() }
      return way.suffix(tail).reversed() + way.prefix(head).reversed()
    }
  }

  /// The jumps from a function to the starts of other functions; nil if they are not all known, for example because
  /// one may lead anywhere.
  private func tailJumps(of function: AddressRange, in module: ModuleSnapshot) -> [TailJump]? {
    jumps.value(at: function.start) {
      let size = function.byteCount
      guard size <= Self.maximumSize, symbols.limit.spend(Int(clamping: size)),
        let code = symbols.code(at: function.start, count: Int(clamping: size), in: module),
        let found = TailJump.all(in: code, at: function.start, snapshot.architecture)
      else { return nil }
      return found.filter { jump in
        !function.contains(jump.target)
          && symbols.function(at: jump.target, in: module)?.start == jump.target
      }
    }
  }
}
