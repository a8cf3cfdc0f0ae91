internal import IntermediateDump
internal import ProcessSnapshot

/// Reads the client memory of the crash handler: annotations, memory ranges and breadcrumbs.
///
/// Source: CrashHandler/State/Client: `ClientMemory`, `CellTable`, `ValueCell` and `AnnotationList`.
/// `ClientMemoryTests` fills client memory with the handler's code and reads it with this code.
struct ClientMemoryReader {
  /// The size of the client memory, `PM_CLIENT_MEMORY_SIZE`.
  private static let size: UInt64 = 1 << 20
  private static let (tableCount, attachmentCount): (UInt64, UInt64) = (64, 16)
  private static let (simpleCapacity, rangeCapacity, pathCapacity): (UInt64, UInt64, UInt64) =
    (510, 16, 1024)
  private static let (ranges, attachments, breadcrumbs, list): (UInt64, UInt64, UInt64, UInt64) = {
    let ranges = 64 + tableCount * Cell.size(simpleCapacity)
    let attachments = ranges + tableCount * Cell.size(rangeCapacity)
    let breadcrumbs = attachments + attachmentCount * Cell.size(pathCapacity)
    return (ranges, attachments, breadcrumbs, breadcrumbs + 128 * BreadcrumbRingReader.stride)
  }()
  private static let (maximumAnnotations, maximumName, maximumCapacity) = (400, 255, UInt64(20480))
  private static let textType = UInt64(AnnotationType.text.rawValue)
  /// The value with which each stored number is combined by XOR, `NumberCell.mark`.
  private static let mark: UInt64 = 0x9E37_79B9_7F4A_7C15

  let memory: MemorySnapshot
  let base: Address

  func add(to client: inout ClientInformation) {
    client.simpleAnnotations = simpleAnnotations
    client.annotations = annotations
    client.extraMemory = extraMemory
    let ring = BreadcrumbRingReader(
      memory: memory, base: base &+ Self.breadcrumbs, count: 128, next: base &+ 24)
    let found = ring.all
    client.breadcrumbs = found.breadcrumbs.map(\.content)
    client.breadcrumbsLeft = ring.left > 0 ? ring.left : nil
    client.breadcrumbsOmitted = found.omitted > 0 ? found.omitted : nil
    client.simpleAnnotationsOmitted = count(at: 0)
    client.memoryRangesOmitted = count(at: 4)
    client.annotationsOmitted = count(at: 12)
  }

  /// The number of entries for which there was no room; nil if there are none, or if the number cannot be read.
  private func count(at offset: UInt64) -> UInt64? {
    let count = memory.bytes(at: base &+ offset, count: 4)?.littleEndian(at: 0, width: 4) ?? 0
    return count > 0 ? count : nil
  }

  /// A key and a value, which are in one of the cell's four buffers.
  private struct Cell {
    let capacity: UInt64

    static func size(_ capacity: UInt64) -> UInt64 { 8 + 4 * (8 + (capacity + 7) & ~7) }

    /// The bytes of the key and of the value; nil if the cell holds no value.
    ///
    /// If the buffer cannot be read, both are empty and the state is `unreadable`.
    func read(
      at place: Address, in memory: MemorySnapshot
    ) -> (key: [UInt8], value: [UInt8], state: AnnotationState?)? {
      guard let word = memory.word(at: place), word & 0x40 != 0 else { return nil }
      let stride = 8 + (capacity + 7) & ~7
      let buffer = place &+ 8 &+ (word >> 4 & 3) &* stride
      guard let sizes = memory.word(at: buffer), sizes & 0xFFFF_FFFF <= capacity,
        sizes >> 32 <= sizes & 0xFFFF_FFFF,
        let bytes = memory.bytes(at: buffer &+ 8, count: Int(sizes & 0xFFFF_FFFF))
      else { return ([], [], .unreadable) }
      let state: AnnotationState? =
        word & 0x80 != 0 ? .stale : word & 0x0F != 0 ? .beingReplaced : nil
      let key = Int(sizes >> 32)
      return (Array(bytes.prefix(key)), Array(bytes.dropFirst(key)), state)
    }
  }

  private func cells(
    at offset: UInt64, _ count: UInt64, capacity: UInt64
  ) -> [(key: [UInt8], value: [UInt8], state: AnnotationState?)] {
    let cell = Cell(capacity: capacity)
    return (0..<count).compactMap {
      cell.read(at: base &+ offset &+ $0 &* Cell.size(capacity), in: memory)
    }
  }

  private var simpleAnnotations: [ClientAnnotation] {
    cells(at: 64, Self.tableCount, capacity: Self.simpleCapacity).map { key, value, state in
      let isKnown = state != .unreadable
      return ClientAnnotation(
        name: isKnown ? String(decoding: key, as: UTF8.self) : nil,
        value: isKnown ? .text(String(decoding: value, as: UTF8.self)) : nil, state: state)
    }
  }

  /// The memory ranges that the program has registered, without those whose first byte is not in the core file.
  private var extraMemory: [ClientInformation.ExtraMemoryRange] {
    cells(at: Self.ranges, Self.tableCount, capacity: Self.rangeCapacity).compactMap { key, _, _ in
      guard let address = key.littleEndian(at: 0, as: UInt64.self),
        let size = key.littleEndian(at: 8, as: UInt64.self), size > 0,
        memory.region(containing: Address(address)) != nil
      else { return nil }
      return ClientInformation.ExtraMemoryRange(address: Address(address), size: size)
    }
  }

  /// The annotations with a type, the newest first.
  private var annotations: [ClientAnnotation] {
    let start = base &+ Self.list
    var annotations: [ClientAnnotation] = []
    var next = memory.word(at: base &+ 16).map { $0 & 0xFFFF_FFFF } ?? 0
    for _ in 0..<Self.maximumAnnotations {
      guard next & 7 == 0, next >= 8, next < Self.size &- Self.list,
        let head = memory.bytes(at: start &+ next, count: 16),
        let following = head.littleEndian(at: 0, width: 4),
        let type = head.littleEndian(at: 4, width: 4),
        let nameCount = head.littleEndian(at: 8, width: 4), nameCount <= Self.maximumName,
        let capacity = head.littleEndian(at: 12, width: 4), capacity <= Self.maximumCapacity,
        let name = memory.bytes(at: start &+ next &+ 16, count: Int(nameCount))
      else { break }
      let cell = start &+ next &+ 16 &+ (nameCount + 7) & ~7
      if let found = annotation(
        named: String(decoding: name, as: UTF8.self), type, at: cell, capacity: capacity)
      {
        annotations.append(found)
      }
      next = following
    }
    return annotations
  }

  private func annotation(
    named name: String, _ type: UInt64, at cell: Address, capacity: UInt64
  ) -> ClientAnnotation? {
    guard type != Self.textType else {
      guard let (_, value, state) = Cell(capacity: capacity).read(at: cell, in: memory) else {
        return nil
      }
      return ClientAnnotation(
        name: name,
        value: state == .unreadable ? nil : .text(String(decoding: value, as: UTF8.self)),
        state: state)
    }
    guard let word = memory.word(at: cell), word != 0 || memory.word(at: cell &+ 8) == 1 else {
      return nil
    }
    let number = word ^ Self.mark
    let value: ClientAnnotation.Value? =
      switch UInt8(exactly: type).flatMap(AnnotationType.init(rawValue:)) {
      case .signed: .signed(Int64(bitPattern: number))
      case .unsigned: .unsigned(number)
      case .double: .double(number)
      case .bool: .bool(number != 0)
      case .text, nil: nil
      }
    return ClientAnnotation(name: name, value: value)
  }
}
