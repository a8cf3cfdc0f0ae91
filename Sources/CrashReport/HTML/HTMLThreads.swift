internal import CrashAnalysis
internal import ProcessSnapshot
internal import Stackwalk

/// Writes the threads of a report's page, and the throw of the error that ended the process.
struct HTMLThreads {
  let report: CrashReport

  /// Distinguishes calls of the program's own code from other calls.
  private var ownCode: OwnCode { report.ownCode }

  func addCrashedThread(_ thread: ReportThread, to html: inout HTMLWriter) {
    html.element("section") { html in
      html.heading(
        report.title(of: thread), anchor: anchor(of: thread), short: "Thread \(thread.id)")
      addStack(of: thread, to: &html)
      for note in report.symbolNotes(on: thread) {
        html.element("p", ["class": "note"], text: note)
      }
    }
    html.breakLine()
  }

  /// Adds the call stack at the throw of the error that ended the process.
  func addThrown(to html: inout HTMLWriter) {
    guard let thrown = report.thrown else { return }
    html.element("section") { html in
      html.heading(report.title(of: thrown), anchor: "throw", short: "Throw")
      html.element("p", ["class": "note"], text: ThrownError.note)
      var isBlamed = true
      html.element("ol", ["class": "stack"]) { html in
        for (frame, number) in thrown.numberedFrames {
          addFrame(
            frame, number: number, kind: kind(of: frame, isBlamed: &isBlamed),
            excerpt: excerpt(of: frame), to: &html)
          html.breakLine()
        }
      }
    }
    html.breakLine()
  }

  /// - Parameter isBlamed: true if the next call of the program's own code is to be marked as the place of the
  ///   failure. This function sets `isBlamed` to false after it has marked that call.
  private func kind(of frame: StackFrame, isBlamed: inout Bool) -> String {
    guard ownCode.isEmphasized(frame) else { return "system" }
    defer { isBlamed = false }
    return isBlamed ? "own blame" : "own"
  }

  /// Adds the threads that did not crash, collapsed; threads with the same stack are shown together.
  func addOtherThreads(maximumSize: Int, to html: inout HTMLWriter) {
    let groups = report.otherThreads(ownCode)
    guard !groups.isEmpty || !report.missingThreads.isEmpty else { return }
    let count = groups.reduce(0) { $0 + $1.threads.count }
    html.element("section") { html in
      html.heading("Other threads (\(count))", anchor: "threads", short: "Other threads")
      let start = html.size
      var shown = 0
      for group in groups {
        guard html.size - start < maximumSize * 3 / 2 else { break }
        addGroup(group, withFrames: html.size - start < maximumSize, to: &html)
        shown += group.threads.count
      }
      html.addRest(count - shown, "threads")
      for note in report.missingThreads { html.element("p", text: note) }
    }
    html.breakLine()
  }

  private func addGroup(_ group: ThreadGroup, withFrames: Bool, to html: inout HTMLWriter) {
    guard let first = group.threads.first else { return }
    html.element("details") { html in
      html.element("summary") { html in
        if group.threads.count > 1 {
          html.add("\(group.threads.count) threads with one stack: ")
        }
        html.add(report.title(of: first))
        if let frame = Self.tellingFrame(of: first) {
          html.element("span", ["class": "where"], text: frame)
        }
      }
      // The anchors are inside the collapsed `details` element, because a browser opens the element when the reader
      // follows a link to an anchor in it.
      if group.threads.count > 1 {
        for thread in group.threads {
          html.element(
            "p", ["class": "row", "id": anchor(of: thread)], text: report.title(of: thread))
        }
      } else {
        html.element("div", ["id": anchor(of: first)]) { _ in }
      }
      for thread in group.threads { addContexts(of: thread, in: group, to: &html) }
      if withFrames {
        addStack(of: first, to: &html)
      } else {
        html.addRest(first.frames.count, "frames")
      }
    }
    html.breakLine()
  }

  private func anchor(of thread: ReportThread) -> String { "thread-\(thread.id)" }

  /// - Parameter group: the threads that share this stack; if there are several, the thread's ID is added first.
  private func addContexts(
    of thread: ReportThread, in group: ThreadGroup, to html: inout HTMLWriter
  ) {
    let contexts = thread.contextFields
    guard !contexts.isEmpty else { return }
    if group.threads.count > 1 {
      html.element("p", ["class": "row"], text: "Thread \(thread.id):")
    }
    html.element("dl", ["class": "facts"]) { html in
      for context in contexts {
        html.element("dt", text: context.name)
        html.element("dd", text: context.value)
      }
    }
  }

  /// The innermost function name on the stack of a collapsed thread, which usually shows what the thread was doing.
  private static func tellingFrame(of thread: ReportThread) -> String? {
    thread.frames.first { $0.function != nil }?.shortName
  }

  private func addStack(of thread: ReportThread, to html: inout HTMLWriter) {
    // In the crashed thread, the innermost call of the program's own code is emphasized, because the reader looks for
    // it.
    var isBlamed = thread.crashed
    html.element("ol", ["class": "stack"]) { html in
      for item in StackListing(thread).items {
        switch item {
        case .frame(let frame, let number):
          addFrame(
            frame, number: number, kind: kind(of: frame, isBlamed: &isBlamed),
            excerpt: thread.crashed ? excerpt(of: frame) : nil,
            to: &html)
        case .elision(let words), .note(let words):
          html.element("li", ["class": "gap"], text: words)
        }
        html.breakLine()
      }
    }
  }

  private func excerpt(of frame: StackFrame) -> SourceExcerpt? {
    frame.sourceLocation.flatMap { report.excerpts[$0] }
  }

  private func addFrame(
    _ frame: StackFrame, number: Int?, kind: String, excerpt: SourceExcerpt?,
    to html: inout HTMLWriter
  ) {
    html.element("li", ["class": kind]) { html in
      html.element("b", text: number.map { String($0) } ?? "?")
      html.element("div") { html in
        html.element("code", text: frame.shortName)
        if let doubt = frame.doubt { html.element("i", text: doubt) }
        html.element("p") { html in
          if let place = frame.lineText { html.element("span", ["class": "line"], text: place) }
          // An inlined call is shown without its offset in the module, because the frame that contains the call has
          // the same offset.
          if !frame.isInlined { addPlace(of: frame, to: &html) }
        }
        if let excerpt {
          html.element("pre") { html in
            for line in excerpt.numberedLines {
              html.element("span", line.isMarked ? ["class": "mark"] : [:], text: line.text)
              html.breakLine()
            }
          }
        }
      }
    }
  }

  private func addPlace(of frame: StackFrame, to html: inout HTMLWriter) {
    html.element("span", ["class": "at"]) { html in
      guard let module = report.snapshot.modules.module(of: frame) else {
        return html.add("in no module \(frame.address)")
      }
      html.add(module.text(of: frame.address))
      // The style sheet hides the address on narrow screens.
      html.element("span", ["class": "address"], text: " \(frame.address)")
    }
  }
}
