internal import CrashReportDatabase
internal import IntermediateDump

/// The numbers of reports that an overview shows, by day, signature, version and host.
struct CrashOverview {
  /// A group of reports that have something in common, such as the signature.
  struct Group {
    var count = 0
    var first = Timestamp(nanoseconds: .max)
    var last = Timestamp(nanoseconds: .min)
    /// The newest report.
    var lastReport: ReportID?
    /// The path of the newest report; set for signatures only.
    var lastPath = ""
    var crash = ""
    var place: String?
    var versions: Set<Int32> = []
    /// The hosts of the reports, as far as they are known, as indices of `names`.
    var hosts: Set<Int32> = []
    /// The number of reports for each day; a day is a number of days since 1970.
    var days: [Int32: Int] = [:]
  }

  /// A program, and one of its signatures or versions.
  struct Subject: Hashable {
    let program: Int32
    let name: Int32
  }

  private(set) var total = 0
  /// The number of reports of requests to quit, which no other number includes.
  private(set) var quits = 0
  private(set) var unreadable = 0
  private(set) var all = Group()
  /// For each kind of report, the number of reports on each day, counted in days since 1970.
  private(set) var days: [ReportDetails.Kind: [Int32: Int]] = [:]
  private(set) var signatures: [Subject: Group] = [:]
  private(set) var versions: [Subject: Group] = [:]
  private(set) var hosts: [Int32: Group] = [:]

  /// The distinct names in the reports; other properties refer to a name by its index in this array.
  private(set) var names: [String] = []
  private var numbers: [String: Int32] = [:]

  mutating func add(_ report: ExportedReport) {
    guard report.failure != nil || report.details.kind != .quit else {
      quits += 1
      return
    }
    total += 1
    guard report.failure == nil else {
      unreadable += 1
      return
    }
    let day = Int32(clamping: report.time.seconds / 86_400)
    let program = number(of: report.facts.program ?? Self.noName)
    let version = number(of: report.facts.version ?? Self.noName)
    let hostName = report.details[text: .hostName]
    let host = number(of: hostName ?? Self.noName)
    func add(to group: inout Group) {
      group.count += 1
      group.first = min(group.first, report.time)
      if report.time >= group.last { (group.last, group.lastReport) = (report.time, report.id) }
      group.versions.insert(version)
      if hostName != nil { group.hosts.insert(host) }
      group.days[day, default: 0] += 1
    }
    days[report.details.kind ?? .crash, default: [:]][day, default: 0] += 1
    add(to: &all)
    add(to: &versions[Subject(program: program, name: version), default: Group()])
    add(to: &hosts[host, default: Group()])
    let signature = number(of: report.facts.signature ?? "no signal in the dump")
    let key = Subject(program: program, name: signature)
    add(to: &signatures[key, default: Group()])
    if signatures[key]?.lastReport == report.id {
      signatures[key]?.lastPath = report.path
      signatures[key]?.crash = CrashLine.text(of: report.facts)
      signatures[key]?.place = report.facts.place
    }
  }

  /// The text that is shown for an unknown name.
  static let noName = "not known"

  private mutating func number(of name: String) -> Int32 {
    if let number = numbers[name] { return number }
    let number = Int32(clamping: names.count)
    names.append(name)
    numbers[name] = number
    return number
  }

  func name(_ number: Int32) -> String { names[Int(number)] }

  /// The time of the first crash of the newest version, for each program that has several versions.
  var releases: [Int32: Timestamp] {
    var newest: [Int32: Timestamp] = [:]
    var counts: [Int32: Int] = [:]
    for (key, group) in versions {
      counts[key.program, default: 0] += 1
      newest[key.program] = max(group.first, newest[key.program] ?? group.first)
    }
    return newest.filter { counts[$0.key] ?? 0 > 1 }
  }

  /// The days that charts show, which end with the newest report: at least 14 days, at most 90.
  ///
  /// A report that is dated later than tomorrow does not change these days, because the clock of its machine was wrong.
  ///
  /// - Parameter now: the current time.
  func shownDays(now: Timestamp) -> ClosedRange<Int32> {
    let tomorrow = Int32(clamping: now.seconds / 86_400 &+ 1)
    let known = all.days.keys.filter { $0 <= tomorrow }
    let last = known.max() ?? tomorrow
    let first = known.min() ?? last
    return max(last &- 89, min(first, last &- 13))...last
  }
}
