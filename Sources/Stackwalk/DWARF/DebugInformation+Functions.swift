internal import ProcessSnapshot

/// Reads all functions of a file, as needed to write a symbol file.
///
/// The functions are read unit by unit, and the data of earlier units is freed if it takes much memory.
extension DebugInformation {
  /// The maximum number of bytes that are kept from one unit to the next.
  private static let maximumKept = 32 << 20

  /// A contiguous part of a function's code.
  struct FunctionPart {
    let range: AddressRange
    fileprivate let entry: Int
    fileprivate let content: DWARFUnitContent
  }

  /// An inlined call; `file` is a number in the unit's table of files.
  struct InlinedCall {
    /// The linkage name, or the plain name if there is no linkage name.
    let name: String?
    /// The number of inlined calls around this call; 0 for a call in the function itself.
    let depth: Int
    let file: UInt16?
    let line: UInt64
    let ranges: [AddressRange]
  }

  var unitCount: Int { index.units.count }

  /// Returns the contiguous parts of a unit's functions, sorted by address.
  func functions(ofUnit number: Int) -> [FunctionPart] {
    if cost > Self.maximumKept { forget() }
    guard !limit.isReached, let content = content(of: index.units[number]) else { return [] }
    return content.functions.entries.map {
      FunctionPart(range: $0.range, entry: $0.payload, content: content)
    }
  }

  /// Returns a function's linkage name, otherwise its plain name.
  func name(of part: FunctionPart) -> String? {
    part.content.die(at: part.entry).flatMap { name(of: $0, in: part.content) }
  }

  /// Visits the source lines of a part of a function, in the order of the addresses.
  func visitLines(of part: FunctionPart, _ body: (AddressRange, LineTable.Row) -> Void) {
    lineTable(of: part.content.unit)?.visitLines(in: part.range, limit, body)
  }

  /// Finds the path of a file by its number in the unit that contains a function.
  func path(of file: UInt16, for part: FunctionPart) -> String? {
    path(of: file, in: part.content.unit)
  }

  /// Visits the calls that were inlined into a part of a function, outer calls before inner ones.
  func visitInlinedCalls(of part: FunctionPart, _ body: (InlinedCall) -> Void) {
    part.content.visitInlinedCalls(
      in: part.entry, within: part.range, ranges, limit
    ) { die, depth, ranges in
      body(
        InlinedCall(
          name: name(of: die, in: part.content), depth: depth,
          file: die.callFile.flatMap { UInt16(exactly: $0) }, line: die.callLine ?? 0,
          ranges: ranges))
    }
  }
}

extension DWARFUnitContent {
  /// A debug information entry (DIE) that contains the entries that are being visited.
  private struct Scope {
    /// The number of inlined calls around the entries in this scope.
    let calls: Int
    let ranges: [AddressRange]
  }

  /// Visits the inlined calls below a function, in the order of the entries.
  ///
  /// - Parameters:
  ///   - function: the function's offset from the unit's start.
  ///   - part: the part of the code to which the visited ranges are restricted.
  ///   - body: receives the entry of the call, the number of calls around it, and the part of the call's code that is
  ///     also in the code of those calls.
  fileprivate func visitInlinedCalls(
    in function: Int, within part: AddressRange, _ ranges: DWARFRanges, _ limit: WorkLimit,
    _ body: (DIE, Int, [AddressRange]) -> Void
  ) {
    var cursor = DWARFReader(bytes, from: function)
    guard let entry = abbreviations.entry(cursor.uleb()), entry.hasChildren else { return }
    skip(entry, &cursor)
    var scopes = [Scope(calls: 0, ranges: [part])]
    var kept = Self.cost(of: scopes[0])
    guard limit.take(kept) else { return }
    defer { limit.giveBack(kept) }
    while let scope = scopes.last, !cursor.isAtEnd, !cursor.hasFailed {
      let number = cursor.uleb()
      if number == 0 {
        let cost = Self.cost(of: scopes.removeLast())
        limit.giveBack(cost)
        kept -= cost
        continue
      }
      guard let entry = abbreviations.entry(number), limit.spend(1 + entry.attributes.count)
      else { return }
      let isInlined = entry.tag == DWARFTag.inlinedSubroutine
      guard isInlined || entry.tag == DWARFTag.lexicalBlock else {
        guard entry.hasChildren else {
          skip(entry, &cursor)
          continue
        }
        skipChildren(of: die(entry, &cursor), &cursor, limit)
        continue
      }
      let die = die(entry, &cursor)
      var own = ranges.ranges(low: die.low, high: die.high, list: die.ranges, in: unit)
      // Old compilers write blocks that have no ranges and only group entries, so such a block gets the ranges of the
      // scope around it.
      own = own.isEmpty && !isInlined ? scope.ranges : Self.common(own, scope.ranges)
      guard limit.spend(own.count + scope.ranges.count) else { return }
      let isKept = !own.isEmpty && scope.calls < Self.maximumCalls
      if isKept, isInlined { body(die, scope.calls, own) }
      guard entry.hasChildren else { continue }
      let inner = Scope(calls: scope.calls + (isInlined ? 1 : 0), ranges: own)
      guard isKept, scopes.count < 4 * Self.maximumCalls else {
        skipChildren(of: die, &cursor, limit)
        continue
      }
      guard limit.take(Self.cost(of: inner)) else { return }
      kept += Self.cost(of: inner)
      scopes.append(inner)
    }
  }

  private static func cost(of scope: Scope) -> Int {
    scope.ranges.count * MemoryLayout<AddressRange>.stride + 64
  }

  /// Returns the addresses that are in both lists, sorted and without overlaps.
  private static func common(
    _ unsorted: [AddressRange], _ outer: [AddressRange]
  ) -> [AddressRange] {
    var found: [AddressRange] = []
    var index = 0
    for range in unsorted.sorted(by: { $0.start < $1.start }) {
      var start = max(range.start, found.last?.clampedEnd ?? 0)
      while index < outer.count, outer[index].clampedEnd <= start { index += 1 }
      var other = index
      while other < outer.count, outer[other].start < range.clampedEnd, start < range.clampedEnd {
        let low = max(start, outer[other].start)
        let high = min(range.clampedEnd, outer[other].clampedEnd)
        if low < high {
          // Adjacent ranges are joined.
          if let last = found.last, last.clampedEnd == low {
            found[found.count - 1] = AddressRange(from: last.start, to: high)
          } else {
            found.append(AddressRange(from: low, to: high))
          }
        }
        start = max(start, high)
        other += 1
      }
    }
    return found
  }
}
