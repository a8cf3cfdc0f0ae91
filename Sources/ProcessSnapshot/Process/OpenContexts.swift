internal import IntermediateDump

/// The `withContext` calls that had begun and not ended: the work in flight.
///
/// Source: CSignalSafe/include/pm_open_contexts.h, CrashHandler/Client/OpenContext.swift.
package struct OpenContexts: Sendable, Equatable {
  /// A `withContext` call that had not ended.
  package struct Context: Sendable, Equatable {
    /// The time at which the call began, in nanoseconds of CLOCK_BOOTTIME.
    package var uptime: UInt64
    /// The number that identifies the unit of work; nested calls have the same number.
    package var work: UInt64
    /// True if the call was inside another `withContext` call.
    package var isNested: Bool
    package var values: [ContextRecord.Value]
    /// The number of values for which there was no room.
    package var omittedCount: UInt64
  }

  /// A unit of work, which is a group of nested calls.
  package struct Work: Sendable, Equatable {
    package var number: UInt64
    /// The time at which the first of the calls began, in nanoseconds of CLOCK_BOOTTIME.
    package var uptime: UInt64
    /// The values of all the calls, without repetitions, in the order in which the calls began.
    package var values: [ContextRecord.Value]
  }

  /// The maximum size in bytes of the copied table of open `withContext` calls.
  private static let maximumSize = headSize + maximumShards * (shardSize + rows * entrySize)
  private static let (headSize, shardSize, entrySize) = (64, 64, 128)
  private static let (maximumShards, rows) = (8, 63)
  private static let (textCapacity, timeOffset) = (96, 120)
  private static let nestedBit: UInt64 = 1 << 63

  /// The calls with an entry in the table, the oldest first.
  package let contexts: [Context]
  /// The number of outermost calls for which the table had no free entry; `nestedOmittedCount` counts such calls inside
  /// other calls.
  package let omittedCount: UInt64
  package let nestedOmittedCount: UInt64
  /// The number of incomplete entries, whose calls were beginning or ending.
  package let incompleteCount: UInt64

  /// Reads a table.
  ///
  /// - Parameter table: the used part of the handler's table, or the table that a heartbeat wrote to the run record,
  ///   which contains only the oldest call.
  /// - Returns: nil if the bytes are not a table.
  package init?(_ table: [UInt8]) {
    func word(_ offset: Int) -> UInt64 { table.littleEndian(at: offset, width: 8) ?? 0 }
    guard word(0) <= Self.maximumShards else { return nil }
    let shards = word(0) == 0 ? Self.maximumShards : Int(truncatingIfNeeded: word(0))
    let first = Self.headSize + shards * Self.shardSize
    guard table.count >= first, table.count <= Self.maximumSize else { return nil }
    var contexts: [Context] = []
    var (omitted, nestedOmitted, incomplete): (UInt64, UInt64, UInt64) = (0, 0, 0)
    for shard in 0..<shards {
      let place = Self.headSize + shard * Self.shardSize
      omitted = omitted.clampedAdding(word(place + 8))
      nestedOmitted = nestedOmitted.clampedAdding(word(place + 16))
      for row in 0..<Self.rows where word(place) >> row & 1 != 0 {
        let start = first + (row * shards + shard) * Self.entrySize
        if start + Self.entrySize <= table.count,
          let context = Self.context(table[start..<start + Self.entrySize])
        {
          contexts.append(context)
        } else {
          incomplete = incomplete.clampedAdding(1)
        }
      }
    }
    self.contexts = contexts.sorted { ($0.uptime, $0.work) < ($1.uptime, $1.work) }
    (omittedCount, nestedOmittedCount, incompleteCount) = (omitted, nestedOmitted, incomplete)
  }

  private static func context(_ entry: ArraySlice<UInt8>) -> Context? {
    guard let time = entry.littleEndian(at: timeOffset, as: UInt64.self),
      let record = ContextRecord(entry, textCapacity: textCapacity, last: time)
    else { return nil }
    return Context(
      uptime: time & ~nestedBit, work: record.work, isNested: time & nestedBit != 0,
      values: record.values, omittedCount: record.omittedCount)
  }

  /// The units of work of the calls in `contexts`, the oldest first.
  package var works: [Work] {
    var works: [Work] = []
    var places: [UInt64: Int] = [:]
    var seen: [Set<ContextRecord.Value>] = []
    for context in contexts {
      let place = places[context.work] ?? works.count
      if place == works.count {
        places[context.work] = place
        works.append(Work(number: context.work, uptime: context.uptime, values: []))
        seen.append([])
      }
      for value in context.values where seen[place].insert(value).inserted {
        works[place].values.append(value)
      }
    }
    return works
  }

  /// The number of units of work in flight.
  package var count: UInt64 { omittedCount.clampedAdding(UInt64(works.count)) }
}
