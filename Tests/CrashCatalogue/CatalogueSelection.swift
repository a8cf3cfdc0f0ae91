public import CrashTestSupport
internal import Glibc

/// Selects the cases of the catalogue to run.
public enum CatalogueSelection {
  /// All kinds under all conditions, each on one kind of thread, which depends on the round; without a condition,
  /// on every kind of thread.
  public static func full(builds: [BuildConfiguration], round: Int = 0) -> [CatalogueCase] {
    builds.flatMap { build in
      CrashCondition.all.flatMap { condition in
        deaths(under: condition).compactMap { death in
          let places = places(death, condition)
          let start = Int(hash("\(death.kind) \(condition.name) \(build)") % 64)
          guard !places.isEmpty else { return nil }
          return CatalogueCase(
            death, condition, on: places[(start + round) % places.count], build)
        }
      }
    }
  }

  /// The same cases, with the builds in turn from round to round.
  ///
  /// Cases that take seconds run in one of five rounds of a build, so 20 rounds of four builds run all of them.
  public static func inTurn(builds: [BuildConfiguration], round: Int) -> [CatalogueCase] {
    let (turn, build) = round.quotientAndRemainder(dividingBy: builds.count)
    return full(builds: [builds[build]], round: turn).filter { testCase in
      !testCase.takesSeconds
        || hash("\(testCase.death.kind) \(testCase.condition.name)") % 5 == UInt64(turn % 5)
    }
  }

  /// The cases for every change: all kinds on every kind of thread, and each condition with two kinds.
  ///
  /// The two are chosen from these five by a hash of the condition's name: a fault, an abort, two traps of
  /// Swift's runtime and a stack overflow. One pair in sixteen also runs in another build. `full` has all cases.
  public static func everyChange() -> [CatalogueCase] {
    let others: [BuildConfiguration] = [.release, .staticDebug, .staticRelease]
    let cases = full(builds: [.asTested]).filter { testCase in
      guard testCase.condition.group != .place else { return true }
      // Unoptimized code takes seconds to convert the dumps of heavy conditions.
      return testCase.condition.isHeavy
        ? testCase.death.kind == "null-read"
        : CrashCondition.representatives.contains(testCase.death.kind)
    }
    let chosen = CrashCondition.all.flatMap { condition -> [CatalogueCase] in
      let own = cases.filter { $0.condition.name == condition.name }
      guard condition.group != .place, own.count > 2 else { return own }
      let start = Int(hash(condition.name) % UInt64(own.count))
      return (0..<2).map { own[(start + $0) % own.count] }
    }
    return chosen.flatMap { testCase -> [CatalogueCase] in
      let number = hash("\(testCase.death.kind) \(testCase.condition.name)")
      guard number % 16 == 0 else { return [testCase] }
      let build = others[Int(number / 16 % UInt64(others.count))]
      return [
        testCase,
        CatalogueCase(testCase.death, testCase.condition, on: testCase.place, build),
      ]
    }
  }

  /// The cases for another C library: every kind on some kind of thread, the kinds that `abort` on all, and
  /// conditions that crash-lab makes by itself.
  public static func otherLibrary(_ build: BuildConfiguration) -> [CatalogueCase] {
    full(builds: [build]).filter { testCase in
      // Leaves out cases with other programs, because they need a shell and the other system has none.
      guard testCase.condition.needsNothing, testCase.condition.group != .sharing,
        case .crash(let crash) = testCase.death
      else {
        return false
      }
      // The handler of SIGABRT is not ours in this condition, so workers that block the signal keep it blocked.
      if testCase.condition.name == "chaining-after", crash.signal == 6 { return false }
      // Newer versions of glibc then end the process without calling a handler, if they abort by themselves.
      if testCase.condition.name.hasPrefix("blocked-"),
        ["assert", "double-free", "stack-smash"].contains(crash.kind)
      {
        return false
      }
      let number = hash("\(crash.kind) \(testCase.condition.name)")
      if testCase.condition.group == .place {
        return crash.signal == 6 || crash.places.count == 1 || number % 6 == 0
      }
      return CrashCondition.representatives.contains(crash.kind) && number % 5 < 2
    }
  }

  /// The part of the catalogue to run on an emulated machine.
  public enum Extent: Sendable {
    /// A few conditions, and each kind on one kind of thread.
    case everyChange
    /// Every condition with one kind, and each kind on one kind of thread.
    case everyCondition
    /// Every condition with one kind of each sort, and each kind on every kind of thread.
    case everySort
  }

  /// The cases for an emulated arm64 machine: the kinds that exist there, and the conditions that crash-lab makes
  /// by itself and whose signals have room there.
  ///
  /// A case that debuggers examine is on the main thread, if it is on one kind of thread.
  public static func arm64(_ extent: Extent) -> [CatalogueCase] {
    full(builds: [.asTested]).compactMap { testCase in
      guard case .crash(let crash) = testCase.death, let there = crash.onARM64,
        testCase.condition.needsNothing, testCase.condition.group != .sharing,
        testCase.condition.largestSignalFrame >= KnownCrash.signalFrameOfARM64,
        isOfARM64(crash, testCase, extent)
      else { return nil }
      return CatalogueCase(.crash(there), testCase.condition, on: testCase.place, testCase.build)
    }
  }

  private static func isOfARM64(
    _ crash: KnownCrash, _ testCase: CatalogueCase, _ extent: Extent
  ) -> Bool {
    let condition = testCase.condition
    guard testCase.isAlone else {
      let sorts = CrashCondition.representatives.filter { kind in
        KnownCrash.all.contains { $0.kind == kind && condition.obstacle($0) == nil }
      }
      return switch extent {
      case .everyChange:
        sorts.contains(crash.kind) && hash("\(crash.kind) \(condition.name)") % 32 == 0
      case .everyCondition:
        !sorts.isEmpty && sorts[Int(hash(condition.name) % UInt64(sorts.count))] == crash.kind
      case .everySort: sorts.contains(crash.kind)
      }
    }
    if extent == .everySort { return true }
    let isDebugged = KnownCrash.debugged.contains { $0.kind == crash.kind }
    // On a worker, which blocks SIGABRT, the handler finds out from a return address on the stack whether libc
    // called abort.
    if crash.kind == "assert", testCase.place == .dispatch { return true }
    if isDebugged, crash.places.contains(.main) { return testCase.place == .main }
    return testCase.place == crash.places[Int(hash(crash.kind) % UInt64(crash.places.count))]
  }

  /// Random cases, the same for the same seed, without conditions that take seconds.
  public static func soak(
    _ count: Int, seed: UInt64, builds: [BuildConfiguration]
  ) -> [CatalogueCase] {
    var generator = SeededGenerator(seed: seed)
    let conditions = CrashCondition.all.filter { !$0.isSlow && $0.canBeHad }
    var cases: [CatalogueCase] = []
    while cases.count < count {
      guard let condition = conditions.randomElement(using: &generator),
        let crash = KnownCrash.all.randomElement(using: &generator),
        let build = builds.randomElement(using: &generator), condition.obstacle(crash) == nil,
        let place = condition.possiblePlaces(crash).randomElement(using: &generator)
      else { continue }
      let testCase = CatalogueCase(.crash(crash), condition, on: place, build)
      // A soak counts reports, so their number must be certain.
      if testCase.reports.lowerBound == testCase.reports.upperBound, testCase.reports != 0...0 {
        cases.append(testCase)
      }
    }
    return cases
  }

  private static func deaths(under condition: CrashCondition) -> [CatalogueCase.Death] {
    guard condition.canBeHad else { return [] }
    let crashes = KnownCrash.all.filter { condition.obstacle($0) == nil }
      .map(CatalogueCase.Death.crash)
    guard condition.takesQuietEnds else { return crashes }
    return crashes
      + QuietEnd.all.filter { $0.canBeHad && condition.excluded[$0.kind] == nil }
      .map(CatalogueCase.Death.quiet)
  }

  private static func places(
    _ death: CatalogueCase.Death, _ condition: CrashCondition
  ) -> [CrashPlace] {
    switch death {
    case .crash(let crash):
      // If the condition crashes another thread, it is started on the main thread, even for kinds that are
      // impossible there.
      condition.isOnOtherThread ? condition.places : condition.possiblePlaces(crash)
    case .quiet(let end): condition.places.filter(end.places.contains)
    }
  }

  /// FNV-1a, which is the same in every run, unlike Swift's own hashes.
  static func hash(_ text: String) -> UInt64 {
    text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}

extension CatalogueCase {
  /// True for slow conditions, and for a limit on processor time, which is at least a second.
  fileprivate var takesSeconds: Bool {
    condition.isSlow || condition.isHeavy || death.kind == "cpu-limit"
  }
}

extension CrashCondition {
  /// False if this machine or user cannot make the condition.
  public var canBeHad: Bool {
    if needsRoot, geteuid() != 0 { return false }
    // The result is -1 if the C library does not know the size.
    if sysconf(Int32(_SC_MINSIGSTKSZ)) > largestSignalFrame { return false }
    return tool.map { $0.path != nil || OutsideTool.mustBeThere } ?? true
  }

  /// True if crash-lab makes the condition without another program, and quickly.
  var needsNothing: Bool {
    guard case .direct = launch else { return false }
    return tool == nil && !needsRoot && !isSlow && !isHeavy && environment.isEmpty
  }

  var takesQuietEnds: Bool { !surroundsCrash && !isSlow && crashes == 1 && !endsOtherwise }
}

/// SplitMix64: a pseudorandom sequence that a seed determines.
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
    return value ^ value >> 31
  }
}
