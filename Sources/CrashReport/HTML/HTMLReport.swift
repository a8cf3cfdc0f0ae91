package import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

/// A report as one HTML page that needs no network access, scripts or fonts.
///
/// The most important facts come first, even on a narrow screen. The page starts with a sentence about the event, the
/// place in the code, and the signal with its code and sender. The program's own data and the crashing thread follow.
/// All text from the dump is escaped. The page's Content-Security-Policy also forbids scripts and requests, so a
/// missing escape could do little harm.
package struct HTMLReport: Sendable {
  /// The maximum number of bytes of HTML for the threads that did not crash.
  ///
  /// Threads beyond this limit are listed without frames. Threads beyond one and a half times the limit are not listed.
  private let threadsSize: Int
  /// The maximum number of bytes of HTML for the list of modules.
  ///
  /// The same limit applies to all instances of `ReportSection` together, except the one about the process. Rows beyond
  /// the limit are left out.
  private let sectionsSize = 2 << 20

  private let report: CrashReport

  /// Makes the whole page.
  ///
  /// - Returns: a document of about 50 KiB for a small program, and of at most about 12 MiB. If there are very many
  ///   threads, the page lists some of them without frames, leaves out the rest, and says so.
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
  }

  private func addHead(to html: inout HTMLWriter) {
    html.addPolicy()
    html.element("title", text: title)
    html.element("style") { html in html.addVerbatim(HTMLStyle.text) }
  }

  /// The page's title, which contains the place, the event and the program, to distinguish browser tabs.
  private var title: String {
    let place = report.place?.replacing(" at ", with: " ")
    let end = (report.snapshot.end?.kind?.word).map(RunEndKind.fewWords)
    let request = report.snapshot.request.map { $0.kind == .hang ? "hang" : "snapshot" }
    let what = (end ?? request ?? report.cause?.kind)?.replacing("-", with: " ")
    let event = what ?? report.signalText ?? "report"
    return CrashReport.list([place, event], separator: ": ").map { "\($0) - \(programName)" }
      ?? programName
  }

  private var programName: String {
    let process = report.snapshot.process
    let executable = process.executablePath?.split(separator: "/").last.map(String.init)
    return process.product ?? executable ?? "a process"
  }

  private var threads: HTMLThreads { HTMLThreads(report: report) }

  private func addBody(to html: inout HTMLWriter) {
    html.element("header") { html in addTop(to: &html) }
    html.breakLine()
    var main = HTMLWriter()
    var room = sectionsSize
    let memory = HTMLMemory(report: report)
    // The stack of a crash comes first; a hang is explained by what its threads wait for.
    let crashed = report.threads.first { $0.crashed }
    if !report.isAboutWaits { addCrash(crashed, to: &main) }
    for section in report.programSections(isFull: true) {
      addSection(section, room: &room, to: &main)
    }
    if report.isAboutWaits { addCrash(crashed, to: &main) }
    addFacts(to: &main)
    threads.addOtherThreads(maximumSize: threadsSize, to: &main)
    if let crashed, report.showsRegisters(of: crashed) {
      memory.addRegisters(of: crashed, to: &main)
    }
    memory.addMemory(to: &main)
    HTMLAddressSpace(report: report).addAddressSpace(to: &main)
    for section in report.sections(isFull: true) { addSection(section, room: &room, to: &main) }
    if let section = report.descriptorSection { addSection(section, room: &room, to: &main) }
    addModules(maximumSize: sectionsSize, to: &main)
    addContents(of: main, to: &html)
    html.element("main") { html in html.add(main) }
    html.breakLine()
    html.element("footer") { html in addFooter(to: &html) }
  }

  private func addCrash(_ crashed: ReportThread?, to html: inout HTMLWriter) {
    if let crashed { threads.addCrashedThread(crashed, to: &html) }
    threads.addThrown(to: &html)
  }

  /// Adds links to the sections, named like their headings; adds none if there are only one or two.
  private func addContents(of main: HTMLWriter, to html: inout HTMLWriter) {
    guard main.headings.count > 2 else { return }
    html.element("nav") { html in
      for heading in main.headings {
        html.element("a", ["href": "#\(heading.anchor)"], text: heading.title)
        html.add(" ")
      }
    }
    html.breakLine()
  }

  private func addFooter(to html: inout HTMLWriter) {
    if let text = report.captureText { html.element("p", text: text) }
    let id = report.snapshot.reportID.map { " " + $0.description.prefix(8) } ?? ""
    html.element("p") { html in
      html.add("Written by postmortem. The same as text and as JSON: ")
      html.element("code", text: "postmortem show\(id) --full")
      html.add(", ")
      html.element("code", text: "postmortem show\(id) --json")
    }
  }

  private func addTop(to html: inout HTMLWriter) {
    let head = report.head(isFull: false)
    let process = report.snapshot.process
    let time = process.crashTime.map { Timestamp(nanoseconds: $0).readable }
    let line = [
      programName, process.version, process.environment, time,
      process.processID.map { "process \($0)" }, report.snapshot.system.hostName,
    ]
    html.element(
      "p", ["class": "program"], text: line.compactMap { $0 }.joined(separator: " \u{B7} "))
    // A long sentence gets a smaller font: in a large font, it would push the signal off a narrow screen.
    let isLong = head.sentence.utf8.count > 120
    html.element("h1", isLong ? ["class": "long"] : [:], text: head.sentence)
    if let place = head.place { html.element("p", ["class": "place"], text: place) }
    if !head.contexts.isEmpty {
      html.element("dl", ["class": "facts work"]) { html in
        for context in head.contexts {
          html.element("dt", text: context.name)
          html.element("dd", text: context.value)
        }
      }
    }
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
    if let section = ReportSection(
      "Process", rows: report.head(isFull: true).facts.map { .field($0) })
    {
      addSection(section, room: &room, to: &html)
    }
  }

  private func addSection(
    _ section: ReportSection, room: inout Int, to html: inout HTMLWriter
  ) {
    html.element("section") { html in
      html.heading(section.title, anchor: section.anchor)
      let start = html.size
      var shown = 0
      if section.foldedCount > 0 {
        html.element("details") { html in
          html.element("summary", text: "\(section.foldedCount) before these")
          shown = addRows(section.rows.prefix(section.foldedCount), room: room, to: &html)
        }
      }
      let left = max(0, room - (html.size - start))
      shown += addRows(section.rows.dropFirst(section.foldedCount), room: left, to: &html)
      room = max(0, room - (html.size - start))
      html.addRest(section.rows.count - shown, "lines")
    }
    html.breakLine()
  }

  /// Adds rows until `room` bytes are used up; returns the number of rows that were added.
  private func addRows(
    _ rows: ArraySlice<ReportSection.Row>, room: Int, to html: inout HTMLWriter
  ) -> Int {
    let start = html.size
    var index = rows.startIndex
    while index < rows.endIndex, html.size - start < room {
      if case .text(let text) = rows[index] {
        html.element("p", ["class": "row"], text: text)
        index += 1
        continue
      }
      html.element("dl", ["class": "facts"]) { html in
        while index < rows.endIndex, html.size - start < room, let field = rows[index].field {
          html.element("dt", text: field.name)
          html.element("dd", text: field.value)
          index += 1
        }
      }
    }
    return index - rows.startIndex
  }

  /// Adds a list of the modules that have frames on a stack, and a collapsed list of the other modules.
  ///
  /// Each of the two lists ends after about `maximumSize / 2` bytes of HTML, with a note about the rest.
  private func addModules(maximumSize: Int, to html: inout HTMLWriter) {
    let modules = report.snapshot.modules
    guard !modules.isEmpty else { return }
    let used = report.modulesOnStacks
    html.element("section") { html in
      html.heading("Modules (\(modules.count))", anchor: "modules", short: "Modules")
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
    html.addRest(indices.count - shown, "modules")
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
