extension HTMLReport {
  /// All modules: those on the stacks open, the others folded.
  func addModules(maximumSize: Int, to html: inout HTMLWriter) {
    guard !report.modules.isEmpty else { return }
    let used = report.modulesOnStacks
    html.element("section") { html in
      html.element("h2", text: "Modules (\(report.modules.count))")
      let onStacks = report.modules.filter { $0.name.map(used.contains) ?? false }
      let others = report.modules.filter { !($0.name.map(used.contains) ?? false) }
      addList(onStacks, maximumSize: maximumSize / 2, to: &html)
      guard !others.isEmpty else { return }
      html.element("details") { html in
        html.element("summary", text: "\(others.count) on no stack")
        addList(others, maximumSize: maximumSize / 2, to: &html)
      }
    }
    html.breakLine()
  }

  private func addList(
    _ modules: [CrashReport.Module], maximumSize: Int, to html: inout HTMLWriter
  ) {
    let start = html.size
    var shown = 0
    html.element("ul", ["class": "modules"]) { html in
      for module in modules {
        guard html.size - start < maximumSize else { break }
        shown += 1
        html.element("li") { html in
          html.element("span", text: module.path + (module.deleted ? " (deleted)" : ""))
          html.element("span", ["class": "at"]) { html in
            html.add("\(module.base.padded), \(TextReport.size(module.size)), ")
            html.add(module.buildID.map { "build ID \($0)" } ?? "no build ID")
          }
          if let note = module.symbolNote { html.element("p", ["class": "note"], text: note) }
        }
        html.breakLine()
      }
    }
    addRest(modules.count - shown, "modules", to: &html)
  }
}
