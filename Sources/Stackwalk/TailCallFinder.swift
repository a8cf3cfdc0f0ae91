internal import ProcessSnapshot

/// Finds the callers that a tail call removed from the stack.
///
/// If a call leads to one function and the frame below is in another, the first function has jumped to another
/// instead of calling it and returning. The finder searches the code of the module's file for the jumps from one to
/// the other, because Swift, unlike C compilers, writes no entries for them into debug information. If there are
/// several chains of jumps, only their common parts are shown.
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
  /// The maximum number of jumps in a chain, and of jumps that are tried to find it.
  private static let (maximumLength, maximumTries) = (32, 1024)

  init(symbols: SymbolSource, snapshot: ProcessSnapshot) {
    self.symbols = symbols
    self.snapshot = snapshot
  }

  /// Finds the jumps between a call and the frame below it.
  ///
  /// - Parameters:
  ///   - returnAddress: after the call.
  ///   - callee: an address in the function of the frame below.
  /// - Returns: the addresses after the jumps, innermost first; none if the call leads there directly, or if the path
  ///   is not known.
  func jumps(behind returnAddress: Address, to callee: Address) -> [Address] {
    chains.value(at: Pair(returnAddress: returnAddress, callee: callee)) {
      uncachedJumps(behind: returnAddress, to: callee)
    }
  }

  private func uncachedJumps(behind returnAddress: Address, to callee: Address) -> [Address] {
    let size = TailJump.callSize
    let call = returnAddress.clampedSubtracting(UInt64(size))
    guard let module = snapshot.module(containing: call), module.contains(callee),
      let code = symbols.code(at: call, count: size, in: module),
      let target = TailJump.callTarget(code, at: call, snapshot.architecture),
      let first = symbols.function(at: target, in: module), first.start == target,
      let last = symbols.function(at: callee, in: module), last.start != target,
      // A part of the same function; compilers create jumps to it and back.
      symbols.linkageName(of: callee, in: module)?.contains(".cold") != true
    else { return [] }
    return chain(from: first, to: last.start, in: module)
  }

  /// Tries all ways, depth first, each jump once in a way.
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

  /// The beginning and the end that all chains have in common.
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

  /// The jumps of a function to the starts of others; nil if one may lead anywhere.
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
