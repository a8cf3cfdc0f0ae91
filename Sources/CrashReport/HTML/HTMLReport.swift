internal import IntermediateDump
internal import ProcessSnapshot

/// A report as one HTML page that needs nothing else: no network, no script, no font.
///
/// The most important comes first, on a narrow screen too: a sentence on the event, the signal with
/// its code and sender, the crashing thread. Everything from the dump is escaped, and the page forbids itself
/// scripts and every request, so that an escape that is missing could not do much.
package struct HTMLReport: Sendable {
  /// Bytes of the other threads after which they are listed without frames.
  private let threadsSize: Int
  /// Bytes after which the modules and all sections are cut off.
  private let sectionsSize = 2 << 20

  let report: CrashReport
  /// Tells the program's own calls from others.
  let ownCode: OwnCode

  /// The whole page.
  ///
  /// - Returns: a document of some 50 KiB for a small program, and some 12 MiB at most: of very many
  ///   threads the frames are left out then, which the page says.
  package static func text(of report: CrashReport) -> String {
    text(of: report, threadsSize: 4 << 20)
  }

  static func text(of report: CrashReport, threadsSize: Int) -> String {
    let page = HTMLReport(report: report, threadsSize: threadsSize)
    var html = HTMLWriter()
    html.addVerbatim("<!DOCTYPE html>\n")
    html.element("html", ["lang": "en"]) { html in
      html.element("head") { html in page.addHead(to: &html) }
      html.breakLine()
      html.element("body") { html in page.addBody(to: &html) }
    }
    html.breakLine()
    return html.text
  }

  private init(report: CrashReport, threadsSize: Int) {
    self.report = report
    self.threadsSize = threadsSize
    ownCode = report.ownCode
  }

  private func addHead(to html: inout HTMLWriter) {
    html.addPolicy()
    let program = programName
    html.element(
      "title", text: [report.signalText, program].compactMap { $0 }.joined(separator: " in "))
    html.element("style") { html in html.addVerbatim(HTMLStyle.text) }
  }

  private var programName: String {
    let process = report.snapshot.process
    return process.product ?? process.executablePath?.shortPath ?? "a process"
  }

  private func addBody(to html: inout HTMLWriter) {
    html.element("header") { html in addTop(to: &html) }
    html.breakLine()
    html.element("main") { html in
      let crashed = report.threads.first { $0.crashed }
      if let crashed { addCrashedThread(crashed, to: &html) }
      addThrown(to: &html)
      addFacts(to: &html)
      if let crashed { addRegisters(of: crashed, to: &html) }
      addMemory(to: &html)
      addAddressSpace(to: &html)
      addOtherThreads(maximumSize: threadsSize, to: &html)
      var room = sectionsSize
      for section in report.sections { addSection(section, room: &room, to: &html) }
      if let section = report.descriptorSection { addSection(section, room: &room, to: &html) }
      addModules(maximumSize: sectionsSize, to: &html)
    }
    html.breakLine()
    html.element("footer") { html in
      if let text = report.captureText { html.element("p", text: text) }
      html.element("p", text: "Written by postmortem; JSON of the same: postmortem show --json.")
    }
  }

  private func addTop(to html: inout HTMLWriter) {
    let head = report.head
    let process = report.snapshot.process
    let time = process.crashTime.map { Timestamp(nanoseconds: $0).readable }
    let line = [programName, process.version, process.environment, time]
    html.element(
      "p", ["class": "program"], text: line.compactMap { $0 }.joined(separator: " \u{B7} "))
    // A long one would push the signal off a narrow screen.
    let isLong = head.sentence.utf8.count > 120
    html.element("h1", isLong ? ["class": "long"] : [:], text: head.sentence)
    if let place = head.place { html.element("p", ["class": "place"], text: place) }
    html.element("dl", ["class": "signs"]) { html in
      for field in head.signs {
        html.element("div") { html in
          html.element("dt", text: field.name)
          html.element("dd", text: field.value)
        }
      }
    }
    for paragraph in head.paragraphs { html.element("p", text: paragraph) }
  }

  private func addFacts(to html: inout HTMLWriter) {
    var room = Int.max
    if let section = ReportSection("Process", rows: report.head.facts.map { .field($0) }) {
      addSection(section, room: &room, to: &html)
    }
  }

  private func addSection(
    _ section: ReportSection, room: inout Int, to html: inout HTMLWriter
  ) {
    html.element("section") { html in
      html.element("h2", text: section.title)
      let start = html.size
      var index = 0
      while index < section.rows.count, html.size - start < room {
        if case .text(let text) = section.rows[index] {
          html.element("p", ["class": "row"], text: text)
          index += 1
          continue
        }
        html.element("dl", ["class": "facts"]) { html in
          while index < section.rows.count, html.size - start < room,
            let field = section.rows[index].field
          {
            html.element("dt", text: field.name)
            html.element("dd", text: field.value)
            index += 1
          }
        }
      }
      room = max(0, room - (html.size - start))
      addRest(section.rows.count - index, "lines", to: &html)
    }
    html.breakLine()
  }

  /// All modules: those on the stacks open, the others folded.
  private func addModules(maximumSize: Int, to html: inout HTMLWriter) {
    let modules = report.snapshot.modules
    guard !modules.isEmpty else { return }
    let used = report.modulesOnStacks
    html.element("section") { html in
      html.element("h2", text: "Modules (\(modules.count))")
      let others = modules.indices.filter { !used.contains($0) }
      addList(used.sorted(), maximumSize: maximumSize / 2, to: &html)
      guard !others.isEmpty else { return }
      html.element("details") { html in
        html.element("summary", text: "\(others.count) on no stack")
        addList(others, maximumSize: maximumSize / 2, to: &html)
      }
    }
    html.breakLine()
  }

  private func addList(_ indices: [Int], maximumSize: Int, to html: inout HTMLWriter) {
    let start = html.size
    var shown = 0
    html.element("ul", ["class": "modules"]) { html in
      for index in indices {
        guard html.size - start < maximumSize else { break }
        shown += 1
        let module = report.snapshot.modules[index]
        html.element("li") { html in
          html.element("span", text: module.title)
          html.element("span", ["class": "at"]) { html in
            html.add("\(module.address.padded), \(Quantity.size(module.size)), ")
            html.add(module.buildIDText.map { "build ID \($0)" } ?? "no build ID")
          }
          if let note = report.symbolNotes[index] {
            html.element("p", ["class": "note"], text: note)
          }
        }
        html.breakLine()
      }
    }
    addRest(indices.count - shown, "modules", to: &html)
  }

  /// Says what the page has no room for.
  func addRest(_ count: Int, _ what: String, to html: inout HTMLWriter) {
    guard count > 0 else { return }
    html.element("p", ["class": "faint"], text: "\(count) more \(what) are only in the JSON.")
  }
}

extension ReportSection.Row {
  fileprivate var field: ReportField? {
    switch self {
    case .field(let field), .assignment(let field): field
    case .text: nil
    }
  }
}
