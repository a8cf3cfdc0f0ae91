internal import ProcessSnapshot

extension HTMLReport {
  /// The registers, each with what it points to.
  func addRegisters(of thread: CrashReport.Thread, to html: inout HTMLWriter) {
    guard !thread.registers.isEmpty else { return }
    let places = AddressPlaces(report)
    html.element("section") { html in
      html.element("h2", text: "Registers")
      html.element("dl", ["class": "registers"]) { html in
        for name in thread.registerNames {
          guard let register = thread.registers[name] else { continue }
          html.element("div") { html in
            html.element("dt", text: name)
            html.element("dd") { html in
              html.element("code", text: register.wide)
              if let place = places.text(of: register.address) {
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
    guard let memory = report.memory, !memory.isEmpty else { return }
    let places = AddressPlaces(report)
    html.element("section") { html in
      html.element("h2", text: "Memory around the fault")
      for (index, part) in memory.enumerated() {
        html.element("details", index == 0 ? ["open": "open"] : [:]) { html in
          html.element("summary") { html in
            html.add("\(part.title) \(part.target)")
            if let place = places.text(of: part.target.address) {
              html.element("span", ["class": "where"], text: place)
            }
          }
          html.element("pre") { html in
            for row in part.rows {
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

extension CrashReport.Memory {
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
    // JSON may say anything: only whole bytes are shown, and no more than are ever stored.
    let digits = Array(bytes.utf8.prefix(4096))
    let values = stride(from: 0, to: digits.count - digits.count % 2, by: 2).map { index in
      UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) ?? 0
    }
    return stride(from: 0, to: values.count, by: 16).map { start in
      let row = values[start..<min(start + 16, values.count)]
      let address = self.address.address &+ UInt64(start)
      let cells = row.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      let left = cells.prefix(8).joined(separator: " ")
      let right = cells.dropFirst(8).joined(separator: " ")
      let ascii = row.map { (0x20..<0x7F).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
      let hexadecimal = left + "  " + right
      let padding = String(repeating: " ", count: max(0, 48 - hexadecimal.count))
      let isTarget = AddressRange(start: address, byteCount: 16).contains(target.address)
      return (address.hex.padded + "  " + hexadecimal + padding + "  " + ascii, isTarget)
    }
  }
}
