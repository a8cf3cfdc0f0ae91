internal import CrashAnalysis
internal import ProcessSnapshot

/// Writes the address space of a report's page.
struct HTMLAddressSpace {
  let report: CrashReport

  /// Adds the address space, with the lowest address first; the fault is marked, and parts that are far from all marks
  /// are collapsed.
  func addAddressSpace(to html: inout HTMLWriter) {
    let map = AddressSpaceMap(report)
    guard !map.rows.isEmpty else { return }
    html.element("section") { html in
      html.heading("Address space", anchor: "address-space")
      html.element("p", ["class": "key"]) { html in
        for (kind, words) in [
          ("x", "code"), ("w", "writable"), ("r", "read only"), ("n", "no access"),
        ] {
          html.element("span", ["class": "swatch \(kind)"], text: words)
        }
      }
      html.element("div", ["class": "map"]) { html in
        for part in map.parts {
          guard !part.isNear else {
            for row in part.rows { addRow(row, to: &html) }
            continue
          }
          html.element("details") { html in
            html.element("summary", text: Self.summary(of: part))
            for row in part.rows { addRow(row, to: &html) }
          }
        }
      }
      let omitted = report.snapshot.listedMappings.omitted
      if omitted > 0 {
        html.element("p", ["class": "faint"], text: "\(omitted) more mappings are not listed.")
      }
    }
    html.breakLine()
  }

  private static func summary(of part: AddressSpaceMap.Part) -> String {
    var count = 0
    var size: UInt64 = 0
    for case .region(let region) in part.rows {
      count += 1
      // The sum cannot overflow, because the regions are disjoint parts of one 64-bit address space.
      size &+= region.size
    }
    return "\(count) more regions, \(Quantity.size(size))"
  }

  private func addRow(_ row: AddressSpaceMap.Row, to html: inout HTMLWriter) {
    switch row {
    case .gap(let size):
      html.element("div", ["class": "hole"], text: "\(Quantity.size(size)) not mapped")
    case .mark(let mark):
      html.element(
        "div", ["class": mark.isFault ? "mark fault" : "mark"],
        text: "\(mark.label) \(mark.address): not mapped")
    case .region(let region):
      let kind = Self.kind(of: region)
      html.element("div", ["class": "region \(kind) s\(Self.height(of: region))"]) { html in
        html.element("code", text: region.start.padded)
        html.element("div") { html in
          html.element("span", text: region.name?.shortMappingName ?? "anonymous memory")
          html.element(
            "span", ["class": "at"],
            text: "\(Quantity.size(region.size)) \(region.protections.joined(separator: " "))")
          for mark in region.marks {
            html.element(
              "span", ["class": mark.isFault ? "mark fault" : "mark"],
              text: "\(mark.label) \(mark.address)")
          }
        }
      }
    }
    html.breakLine()
  }

  /// The style sheet's class for the permissions of a region.
  private static func kind(of region: AddressSpaceMap.Region) -> String {
    func has(_ letter: Character) -> Bool { region.protections.contains { $0.contains(letter) } }
    return has("x") ? "x" : has("w") ? "w" : has("r") ? "r" : "n"
  }

  /// The style sheet's class for the height of a region's row, from 0 to 3.
  ///
  /// The class is 1 for more than 64 KiB, 2 for more than 4 MiB, and 3 for more than 256 MiB.
  private static func height(of region: AddressSpaceMap.Region) -> Int {
    [16, 22, 28].count { region.size > UInt64(1) << UInt64($0) }
  }
}
