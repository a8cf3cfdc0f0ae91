/// Where functions start, from the sorted table that ends `.eh_frame_hdr`.
///
/// Every image that can be unwound has it, stripped ones too. Source: Linux Standard Base Core,
/// 10.6.2 (Exception Frame Header).
struct FunctionStarts {
  /// Sorted, in the file's own numbering.
  private var starts: [UInt64] = []

  /// Reads the table of one form, the one all linkers write; empty for any other.
  init(of elf: borrowing ELFFile) {
    guard
      let segment = elf.segments.first(where: { $0.type == ELFFile.exceptionFrameHeader }),
      let header = elf.file.bytes(at: segment.fileOffset, count: 12),
      // Version 1; count udata4; table datarel|sdata4.
      header[0] == 1, header[2] == 0x03, header[3] == 0x3B,
      let count = header.integer(at: 8, as: UInt32.self), segment.fileSize >= 12,
      UInt64(count) <= (segment.fileSize - 12) / 8, count <= 8 << 20,
      let table = elf.file.bytes(at: segment.fileOffset &+ 12, count: Int(count) * 8)
    else { return }
    starts.reserveCapacity(Int(count))
    for offset in stride(from: 0, to: table.count, by: 8) {
      guard let relative = table.integer(at: offset, as: Int32.self) else { return }
      starts.append(segment.address &+ UInt64(bitPattern: Int64(relative)))
    }
    if !starts.indices.dropFirst().allSatisfy({ starts[$0 - 1] <= starts[$0] }) { starts.sort() }
  }

  /// The last start at or below an address.
  func start(of address: UInt64) -> UInt64? {
    var low = 0
    var high = starts.count
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] <= address { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? starts[low - 1] : nil
  }
}
