#if arch(x86_64)
  import Glibc
  import ProcessSnapshot
  import Testing

  @testable import Stackwalk

  /// Walks of a real stack of this process.
  ///
  /// The tests run one at a time, because the signal handler has only one set of buffers.
  @Suite(.serialized) struct RealStackTests {
    @inline(never) static func outermostCall(_ depth: Int) -> Int {
      middleCall(depth) &+ 1
    }

    @inline(never) static func middleCall(_ depth: Int) -> Int {
      depth > 0 ? middleCall(depth - 1) &+ 1 : innermostCall() &+ 1
    }

    @inline(never) static func innermostCall() -> Int {
      Int(raise(SIGUSR2)) &+ 1
    }

    private func names(_ frames: [StackFrame]) -> [String] {
      frames.compactMap { $0.symbol?.name }
    }

    @Test func walksOutOfLibcIntoTheCallers() throws {
      let (snapshot, thread) = try CapturedProcess.capture {
        _ = RealStackTests.outermostCall(3)
      }
      let walker = Stackwalker(snapshot: snapshot, symbols: SymbolSource())
      let frames = walker.frames(of: thread, limit: 100)
      #expect(frames.first?.trust == .context)
      #expect(frames.first?.address == thread.context?.instructionPointer)
      let names = names(frames)
      let innermost = try #require(names.firstIndex { $0.contains("innermostCall") }, "\(names)")
      // Libc's frames come before, and nothing is between the four middle calls.
      #expect(innermost >= 1)
      #expect(
        names[(innermost + 1)...].prefix(4).allSatisfy { $0.contains("middleCall") }, "\(names)")
      try #require(names.count > innermost + 5)
      #expect(names[innermost + 5].contains("outermostCall"), "\(names)")
      // raise() leaves its own frame by a tail call.
      let found = frames.dropFirst().filter { $0.trust != .tailCall }
      #expect(found.allSatisfy { $0.trust == .callFrameInformation }, "\(frames)")
    }

    @inline(never) static func sortsTwoNumbers() {
      var numbers: [Int32] = [2, 1]
      unsafe qsort(&numbers, numbers.count, 4) { _, _ in raise(SIGUSR2) }
      withExtendedLifetime(numbers) {}
    }

    /// libc is compiled without frame pointers in qsort and raise.
    @Test func walksThroughACallbackOfLibc() throws {
      let (snapshot, thread) = try CapturedProcess.capture { RealStackTests.sortsTwoNumbers() }
      let walker = Stackwalker(snapshot: snapshot, symbols: SymbolSource())
      let trace = walker.trace(of: thread, head: 100, tail: 0)
      let names = names(trace.frames)
      let sort = try #require(names.firstIndex { $0.hasPrefix("qsort") }, "\(names)")
      #expect(names[..<sort].contains { $0.contains("closure #1") }, "\(names)")
      try #require(names.count > sort + 1)
      #expect(names[sort + 1].contains("sortsTwoNumbers"), "\(names)")
      let found = trace.frames.dropFirst().filter { $0.trust != .tailCall }
      #expect(found.allSatisfy { $0.trust == .callFrameInformation })
      #expect(trace.end == .bottom)
    }

    @Test func omitsTheMiddleOfADeepRecursion() throws {
      let (snapshot, thread) = try CapturedProcess.capture {
        _ = RealStackTests.outermostCall(1_000)
      }
      let walker = Stackwalker(snapshot: snapshot, symbols: SymbolSource())
      let whole = walker.trace(of: thread, head: 100_000, tail: 0)
      #expect(whole.frames.count { $0.symbol?.name.contains("middleCall") == true } == 1_001)
      let trace = walker.trace(of: thread, head: 20, tail: 10)
      #expect(trace.frames.count { !$0.isInlined } == 30)
      #expect(trace.frames.prefix(trace.omittedAfter).count { !$0.isInlined } == 20)
      #expect(trace.omittedCount == whole.frames.count - trace.frames.count)
      #expect(Array(trace.frames.suffix(10)) == Array(whole.frames.suffix(10)))
      #expect(trace.end == whole.end)
      #expect(trace.recursion == whole.recursion)
      #expect(trace.recursion?.period == 1)
      #expect(trace.recursion?.count == 1_001)
    }

    @Test func usesNoSymbolsOfAnotherBuild() throws {
      var (snapshot, thread) = try CapturedProcess.capture {
        _ = RealStackTests.outermostCall(0)
      }
      for index in snapshot.modules.indices {
        try #require(!snapshot.modules[index].buildID.isEmpty)
        snapshot.modules[index].buildID[0] ^= 0xFF
      }
      let symbols = SymbolSource()
      let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
      let frames = walker.frames(of: thread, limit: 100)
      #expect(frames.allSatisfy { $0.symbol == nil })
      let first = try #require(frames.first?.moduleIndex)
      #expect(symbols.note(on: snapshot.modules[first])?.contains("not the same build") == true)
    }

    @Test func storedNamesStandInForFilesWherePreferred() throws {
      let (snapshot, thread) = try CapturedProcess.capture {
        _ = RealStackTests.outermostCall(0)
      }
      let read = Stackwalker(snapshot: snapshot, symbols: SymbolSource())
        .frames(of: thread, limit: 9)
      let frame = try #require(read.first { $0.symbol?.name.contains("innermostCall") == true })
      let stored = StoredSymbols(functions: [
        frame.lookupAddress: [StoredSymbols.Function(linkageName: "kept", offset: 1)]
      ])
      for prefersStored in [false, true] {
        let symbols = SymbolSource(
          directories: [], stored: stored, readsFiles: true, store: nil,
          prefersStored: prefersStored)
        let frames = Stackwalker(snapshot: snapshot, symbols: symbols).frames(of: thread, limit: 9)
        #expect(names(frames).contains("kept") == prefersStored)
        // The names of other functions are still read from the file.
        #expect(names(frames).contains { $0.contains("outermostCall") })
      }
    }
  }
#endif
