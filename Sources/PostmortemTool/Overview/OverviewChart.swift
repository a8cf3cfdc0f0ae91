internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump

/// Draws the charts of an HTML page.
///
/// Charts are stretched to the available width, so words are placed next to them and not inside.
enum OverviewChart {
  /// The kinds of reports with their classes in the style sheet, in the order in which a bar stacks them from the
  /// bottom up.
  static let kinds: [(kind: ReportDetails.Kind, style: String, noun: Noun)] = [
    (.crash, "crash", Noun(one: "crash", many: "crashes")),
    (.hang, "hang", Noun(one: "hang", many: "hangs")),
    (.end, "end", Noun(one: "run without a dump", many: "runs without a dump")),
    (
      .dump, "dump",
      Noun(one: "dump of a process that continued", many: "dumps of processes that continued")
    ),
  ]

  /// The word for the counted reports, in singular and plural.
  struct Noun {
    let one: String
    let many: String

    func text(of count: Int) -> String {
      "\(Quantity.grouped(count)) \(count == 1 ? one : many)"
    }
  }

  /// Adds one bar for each day, in which the kinds are stacked.
  static func addDays(
    _ overview: CrashOverview, _ days: ClosedRange<Int32>, to html: inout HTMLWriter
  ) {
    let sums = days.map { day in kinds.reduce(0) { $0 + (overview.days[$1.kind]?[day] ?? 0) } }
    let top = roundedUp(max(1, sums.max() ?? 1))
    html.element("div", ["class": "days"]) { html in
      html.element("div", ["class": "scale"]) { html in
        html.element("span", text: Quantity.grouped(top))
        html.element("span", text: top > 1 ? Quantity.grouped(top / 2) : "")
        html.element("span", text: "0")
      }
      html.element(
        "svg",
        [
          "viewBox": "0 0 \(days.count * 10) 100", "preserveAspectRatio": "none", "role": "img",
          "aria-label": "reports by day",
        ]
      ) { html in
        for height in [0, 50, 100] {
          html.element(
            "line",
            ["x1": "0", "x2": "\(days.count * 10)", "y1": "\(height)", "y2": "\(height)"], text: "")
        }
        for (position, day) in days.enumerated() where sums[position] > 0 {
          html.element("g") { html in
            addBar(overview, day, at: position, top: top, to: &html)
          }
        }
      }
    }
    html.element("div", ["class": "dates"]) { html in
      for day in [days.lowerBound, days.lowerBound &+ Int32(days.count / 2), days.upperBound] {
        html.element("span", text: text(day))
      }
    }
  }

  private static func addBar(
    _ overview: CrashOverview, _ day: Int32, at position: Int, top: Int,
    to html: inout HTMLWriter
  ) {
    var words: [String] = []
    var below = 0
    for (kind, style, name) in kinds {
      guard let count = overview.days[kind]?[day], count > 0 else { continue }
      words.append(name.text(of: count))
      let height = percent(below + count, of: top) - percent(below, of: top)
      html.element(
        "rect",
        [
          "class": style, "x": "\(position * 10 + 1)", "width": "8",
          "y": .thousandths(100_000 - percent(below + count, of: top)),
          "height": .thousandths(height),
        ], text: "")
      below += count
    }
    html.element("title", text: "\(text(day)): " + words.joined(separator: ", "))
  }

  /// Adds a chart as high as a line of text, with a bar for each day's number of reports in a group.
  static func addSpark(
    _ group: CrashOverview.Group, _ days: ClosedRange<Int32>, to html: inout HTMLWriter
  ) {
    let counts = days.map { group.days[$0] ?? 0 }
    let top = max(1, counts.max() ?? 1)
    html.element(
      "svg",
      [
        "class": "spark", "viewBox": "0 0 \(days.count * 10) 100", "preserveAspectRatio": "none",
        "role": "img", "aria-label": "its reports by day",
      ]
    ) { html in
      for (position, count) in counts.enumerated() where count > 0 {
        // The bar has a minimum height, so that a day with one crash of a thousand is still visible.
        let height = max(8000, percent(count, of: top))
        html.element(
          "rect",
          [
            "x": "\(position * 10 + 1)", "width": "8", "y": .thousandths(100_000 - height),
            "height": .thousandths(height),
          ], text: "")
      }
    }
  }

  /// Adds a horizontal bar that begins at the left.
  static func addShare(_ count: Int, of top: Int, to html: inout HTMLWriter) {
    html.element(
      "svg",
      ["class": "share", "viewBox": "0 0 100 1", "preserveAspectRatio": "none", "role": "img"]
    ) { html in
      html.element(
        "rect", ["width": .thousandths(percent(count, of: max(1, top))), "height": "1"], text: "")
    }
  }

  /// A share in thousandths of a percent.
  private static func percent(_ count: Int, of top: Int) -> Int {
    Int(Double(count) / Double(top) * 100_000)
  }

  /// The number at which a scale ends: the smallest number not below `count` that is 1, 2, 4, 5 or 8 followed by
  /// any number of zeros.
  private static func roundedUp(_ count: Int) -> Int {
    var unit = 1
    while true {
      for step in [1, 2, 4, 5, 8] where step * unit >= count { return step * unit }
      guard unit < 1 << 56 else { return count }
      unit *= 10
    }
  }

  static func text(_ day: Int32) -> String {
    String(Timestamp(seconds: Int64(day) &* 86_400).description.prefix(10))
  }
}
