internal import IntermediateDump
internal import ProcessSnapshot

extension HTMLReport {
  /// The registers, each with what it points to.
  func addRegisters(of thread: CrashReport.Thread, to html: inout HTMLWriter) {
    let registers = thread.sortedRegisters
    guard !registers.isEmpty else { return }
    let places = AddressPlaces(report.snapshot)
    html.element("section") { html in
      html.element("h2", text: "Registers")
      html.element("dl", ["class": "registers"]) { html in
        for (name, value) in registers {
          html.element("div") { html in
            html.element("dt", text: name)
            html.element("dd") { html in
              html.element("code", text: value.wide)
              if let place = places.text(of: value) {
                html.element("span", ["class": "at"], text: place)
              }
            }
          }
        }
      }
    }
    html.breakLine()
  }

  /// The memory around the fault, as a hexadecimal dump; all but the first folded.
  func addMemory(to html: inout HTMLWriter) {
    let excerpts = report.snapshot.memoryExcerpts
    guard !excerpts.isEmpty else { return }
    let places = AddressPlaces(report.snapshot)
    html.element("section") { html in
      html.element("h2", text: "Memory around the fault")
      for (index, excerpt) in excerpts.enumerated() {
        html.element("details", index == 0 ? ["open": "open"] : [:]) { html in
          html.element("summary") { html in
            html.add("\(excerpt.title) \(excerpt.target)")
            if let place = places.text(of: excerpt.target) {
              html.element("span", ["class": "where"], text: place)
            }
          }
          html.element("pre") { html in
            for row in excerpt.rows {
              html.element("span", row.isTarget ? ["class": "mark"] : [:], text: row.text)
              html.breakLine()
            }
          }
        }
      }
    }
    html.breakLine()
  }
}

extension MemoryExcerpt {
  fileprivate var title: String {
    switch about {
    case "fault": "At the faulting address"
    case "instructions": "Instructions at"
    case "stack": "Top of the stack at"
    default: "Where \(about) points:"
    }
  }

  /// Sixteen bytes a line, in hexadecimal and as ASCII; the target's line is marked.
  var rows: [(text: String, isTarget: Bool)] {
    stride(from: 0, to: bytes.count, by: 16).map { start in
      let row = bytes[start..<min(start + 16, bytes.count)]
      let address = self.address &+ UInt64(start)
      let cells = row.map { $0.hexadecimal(digits: 2) }
      let left = cells.prefix(8).joined(separator: " ")
      let right = cells.dropFirst(8).joined(separator: " ")
      let ascii = row.map { (0x20..<0x7F).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
      let hexadecimal = left + "  " + right
      let padding = String(repeating: " ", count: max(0, 48 - hexadecimal.count))
      let isTarget = AddressRange(start: address, byteCount: 16).contains(target)
      return (address.padded + "  " + hexadecimal + padding + "  " + ascii, isTarget)
    }
  }
}

/// Says in a few words where an address lies.
private struct AddressPlaces {
  private let snapshot: ProcessSnapshot
  private let mappings: [MemoryMapping]

  init(_ snapshot: ProcessSnapshot) {
    self.snapshot = snapshot
    mappings = snapshot.listedMappings.mappings
  }

  /// Such as "libc.so.6+0x1234 r-x" or "[heap] rw-"; nil where it is not mapped or not known, as for
  /// small numbers.
  func text(of address: Address) -> String? {
    let mapping = mappings.first { $0.range.contains(address) }
    let rights = mapping.map { " " + $0.protection.letters } ?? ""
    if let module = snapshot.modules.first(where: { $0.contains(address) }) {
      return module.text(of: address) + rights
    }
    guard let mapping else { return nil }
    return (mapping.path.isEmpty ? "anonymous memory" : mapping.path.shortMappingName) + rights
  }
}
