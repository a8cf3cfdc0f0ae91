internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

/// Writes the registers and the memory of a report's page.
struct HTMLMemory {
  let report: CrashReport

  /// Adds the registers, each with a description of what it points to.
  func addRegisters(of thread: ReportThread, to html: inout HTMLWriter) {
    let registers = thread.sortedRegisters
    guard !registers.isEmpty else { return }
    html.element("section") { html in
      html.heading("Registers", anchor: "registers")
      html.element("dl", ["class": "registers"]) { html in
        for (name, value) in registers {
          html.element("div") { html in
            html.element("dt", text: name)
            html.element("dd") { html in
              html.element("code", text: value.wide)
              if let word = report.word(inRegister: name) {
                html.element("span", ["class": "at"], text: word.words)
              }
              if let place = report.snapshot.place(of: value) {
                html.element("span", ["class": "at"], text: place)
              }
            }
          }
        }
      }
    }
    html.breakLine()
  }

  /// Adds the memory excerpts as hexadecimal dumps, all collapsed except the first.
  func addMemory(to html: inout HTMLWriter) {
    let excerpts = report.snapshot.memoryExcerpts
    guard !excerpts.isEmpty else { return }
    html.element("section") { html in
      html.heading("Memory around the fault", anchor: "memory", short: "Memory")
      for (index, excerpt) in excerpts.enumerated() {
        html.element("details", index == 0 ? ["open": "open"] : [:]) { html in
          html.element("summary") { html in
            html.add("\(excerpt.title) \(excerpt.target)")
            if let place = report.snapshot.place(of: excerpt.target) {
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

  /// Rows of sixteen bytes in hexadecimal and ASCII; the row that contains the target is marked.
  var rows: [(text: String, isTarget: Bool)] {
    stride(from: 0, to: bytes.count, by: 16).map { start in
      let row = bytes[start..<min(start + 16, bytes.count)]
      let address = self.address &+ UInt64(start)
      let isTarget = AddressRange(start: address, byteCount: 16).contains(target)
      return (address.padded + "  " + row.hexadecimalRow, isTarget)
    }
  }
}
