internal import CrashAnalysis
internal import ProcessSnapshot

/// The address space as the HTML page shows it: regions, the gaps between them, and the position of the fault.
struct AddressSpaceMap {
  /// An address that the map marks.
  struct Mark: Sendable, Equatable {
    let address: Address
    let label: String
    /// True for the faulting address; false for the instruction pointer and the stack pointer.
    let isFault: Bool
  }

  /// One mapping, or several adjacent mappings of the same file, or of anonymous memory with the same permissions.
  struct Region: Sendable, Equatable {
    var range: AddressRange
    var protections: [String]
    let name: String?
    var marks: [Mark] = []

    var start: Address { range.start }
    var size: UInt64 { range.byteCount }
  }

  enum Row: Sendable, Equatable {
    case region(Region)
    /// A gap of this many bytes without a mapping.
    case gap(UInt64)
    /// A marked address, such as the faulting one, that is in no mapping.
    case mark(Mark)

    var isMarked: Bool {
      switch self {
      case .region(let region): !region.marks.isEmpty
      case .mark: true
      case .gap: false
      }
    }
  }

  /// The number of rows on each side of a mark that are always shown.
  private static let neighbours = 4

  private(set) var rows: [Row] = []

  /// Makes the rows of the map; there are none if the mappings are not known.
  init(_ report: CrashReport) {
    let mappings = report.snapshot.listedMappings.mappings.filter { !$0.range.isEmpty }
    guard !mappings.isEmpty else { return }
    var marks = Self.marks(report).sorted { $0.address < $1.address }[...]
    let regions = mappings.map { mapping in
      Region(
        range: mapping.range, protections: [mapping.protection.letters],
        name: mapping.path.isEmpty ? nil : mapping.path,
        marks: marks.filter { mapping.range.contains($0.address) })
    }
    var end: Address = 0
    for region in Self.joined(regions) {
      while let mark = marks.first, mark.address < region.range.clampedEnd {
        marks.removeFirst()
        guard mark.address < region.start else { continue }
        addGap(from: end, to: mark.address)
        rows.append(.mark(mark))
        end = mark.address
      }
      addGap(from: end, to: region.start)
      rows.append(.region(region))
      end = region.range.clampedEnd
    }
    for mark in marks {
      addGap(from: end, to: mark.address)
      rows.append(.mark(mark))
      end = max(end, mark.address)
    }
  }

  private mutating func addGap(from start: Address, to end: Address) {
    if let size = end.distance(above: start), size > 0 { rows.append(.gap(size)) }
  }

  private static func marks(_ report: CrashReport) -> [Mark] {
    var marks: [Mark] = []
    if let exception = report.snapshot.exception, report.snapshot.request == nil,
      // A general protection fault has no address, so no address is marked for it.
      let address = exception.address, exception.code != ExceptionSnapshot.kernelCode
    {
      let access = MemoryAccess(exception).map { " (\($0.rawValue))" } ?? ""
      marks.append(Mark(address: address, label: "fault\(access)", isFault: true))
    }
    if let context = report.threads.first(where: \.crashed)?.snapshot.context {
      for (address, label) in [
        (context.instructionPointer, "instruction pointer"),
        (context.stackPointer, "stack pointer"),
      ] {
        marks.append(Mark(address: address, label: label, isFault: false))
      }
    }
    return marks
  }

  /// Joins adjacent mappings of the same file, or of anonymous memory with the same permissions, into one region.
  ///
  /// A mapping with a mark stays separate, to show its own permissions.
  private static func joined(_ regions: [Region]) -> [Region] {
    var result: [Region] = []
    for region in regions {
      if let last = result.last, last.range.end == region.start, last.marks.isEmpty,
        region.marks.isEmpty, last.name == region.name,
        region.name != nil || last.protections == region.protections
      {
        result[result.count - 1].range = AddressRange(
          start: last.start, byteCount: last.size &+ region.size)
        if let new = region.protections.first, !last.protections.contains(new) {
          result[result.count - 1].protections.append(new)
        }
        continue
      }
      result.append(region)
    }
    return result
  }

  /// Consecutive rows that are all near a mark, or all far from every mark.
  ///
  /// `isNear` is also true for fewer than four rows, because collapsing them would not save space.
  struct Part: Sendable, Equatable {
    let rows: ArraySlice<Row>
    let isNear: Bool
  }

  /// All rows in order, split into parts; parts that are far from all marked rows can be collapsed.
  var parts: [Part] {
    var near = Set<Int>()
    for index in rows.indices where rows[index].isMarked {
      near.formUnion(
        max(0, index - Self.neighbours)...min(rows.count - 1, index + Self.neighbours))
    }
    var parts: [Part] = []
    var start = 0
    while start < rows.count {
      let isNear = near.contains(start)
      var end = start + 1
      while end < rows.count, near.contains(end) == isNear { end += 1 }
      parts.append(Part(rows: rows[start..<end], isNear: isNear || end - start < 4))
      start = end
    }
    return parts
  }
}
