internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The data that a program with the crash handler keeps in its memory: values recorded at launch, annotations,
/// breadcrumbs, contexts and registered memory ranges.
///
/// `ClientFacts` finds the data by the names of the handler's variables, so the file of the module that contains the
/// handler, or its debug file, must have a symbol table. If the variables have another layout, the data is left out.
///
/// Attachments are left out: otherwise a core file from an untrusted source could make the tool copy any file into a
/// report.
///
/// Source: CSignalSafe/include/pm_core_facts.h, pm_client.h and pm_work.h.
struct ClientFacts {
  /// The only layout of the variables that this reader knows, `PM_CORE_LAYOUT`.
  private static let layout: UInt64 = 1
  private static let maximumTokens: UInt64 = 1 << 20
  private static let names = [
    "pm_core_facts_storage", "pm_client_memory_storage", "pm_ring_memory_storage",
    workPlaces, workKey, "pm_open_contexts_storage",
  ]
  static let (workPlaces, workKey) = ("pm_work_places_storage", "pm_work_key_storage")

  private let snapshot: ProcessSnapshot
  private let symbols: SymbolSource

  init(of snapshot: ProcessSnapshot, _ symbols: SymbolSource) {
    (self.snapshot, self.symbols) = (snapshot, symbols)
  }

  func add(to snapshot: inout ProcessSnapshot) {
    guard let places, let facts = places[Self.names[0]] else { return }
    if let launch = launch(facts) { add(launch, to: &snapshot) }
    // At every privacy level except `full`, the rest of the data is left out, as in the handler's dump.
    guard snapshot.process.privacy ?? .full == .full else { return }
    if let memory = places[Self.names[1]] {
      ClientMemoryReader(memory: snapshot.memory, base: memory).add(to: &snapshot.client)
    }
    if let rings = places[Self.names[2]], let work = places[Self.names[3]],
      let key = places[Self.names[4]],
      let contexts = CoreContexts(of: snapshot, places: work, key: key)
    {
      contexts.add(
        to: &snapshot.client, rings: WorkRingReader(memory: snapshot.memory, base: rings))
    }
    if let table = places[Self.names[5]],
      let used = snapshot.memory.word(at: table &+ 8), used > 0,
      used <= UInt64(OpenContexts.maximumSize)
    {
      snapshot.client.openContextTable = snapshot.memory.bytes(at: table, count: Int(used))
        .map(Array.init)
    }
    snapshot.spreadClientAnnotations()
    timeBreadcrumbs(of: &snapshot)
  }

  /// Computes the wall-clock time of the breadcrumbs from the wall-clock time and the uptime of the launch.
  private func timeBreadcrumbs(of snapshot: inout ProcessSnapshot) {
    guard let time = snapshot.process.launchTime, let uptime = snapshot.process.launchUptime else {
      return
    }
    func timed(_ breadcrumb: ClientInformation.Breadcrumb) -> ClientInformation.Breadcrumb {
      var timed = breadcrumb
      timed.time = breadcrumb.uptime.map { time &+ Int64(bitPattern: $0 &- uptime) }
      return timed
    }
    snapshot.client.breadcrumbs = snapshot.client.breadcrumbs.map(timed)
    snapshot.client.workBreadcrumbs = snapshot.client.workBreadcrumbs.map(timed)
  }

  private var places: [String: Address]? {
    Self.places(in: snapshot.modules, symbols) { snapshot.memory.word(at: $0) }
  }

  /// The addresses of the handler's variables by name; nil if no module has them, or if their layout cannot be read or
  /// is not known to this reader.
  ///
  /// Libraries outside `/usr` and `/lib` are searched too, because the handler may be linked into one of them.
  ///
  /// - Parameter word: reads a word of the process's memory.
  static func places(
    in modules: [ModuleSnapshot], _ symbols: SymbolSource, word: (Address) -> UInt64?
  ) -> [String: Address]? {
    let program = modules.filter { $0.source == .program }
    let others = modules.filter { module in
      module.source != .program && module.path.hasPrefix("/")
        && !["/usr/", "/lib"].contains { module.path.hasPrefix($0) }
    }
    for module in program + others {
      let found = symbols.addresses(of: Self.names, in: module)
      guard let facts = found[Self.names[0]] else { continue }
      if word(facts) == Self.layout { return found }
    }
    return nil
  }

  /// The values that the handler encoded as tokens when it started; nil if it was not started, or if the tokens cannot
  /// be read.
  private func launch(_ facts: Address) -> ProcessSnapshot? {
    guard let place = snapshot.memory.word(at: facts &+ 8), place != 0,
      let size = snapshot.memory.word(at: facts &+ 16), size <= Self.maximumTokens,
      let tokens = snapshot.memory.bytes(at: Address(place), count: Int(size)),
      let header = IntermediateDumpEncoding.encode({ $0.header() }),
      let document = try? IntermediateDumpDocument(parsing: header + tokens)
    else { return nil }
    return ProcessSnapshot(reading: document)
  }

  /// Adds the values recorded at launch, because the notes of a core file do not contain them.
  private func add(_ launch: ProcessSnapshot, to snapshot: inout ProcessSnapshot) {
    snapshot.launchAnnotations = launch.launchAnnotations
    let (known, system) = (launch.process, snapshot.system)
    snapshot.process.identifier = known.identifier
    snapshot.process.product = known.product
    snapshot.process.version = known.version
    snapshot.process.environment = known.environment
    snapshot.process.launchTime = known.launchTime
    snapshot.process.launchUptime = known.launchUptime
    snapshot.process.cgroup.path = known.cgroup.path
    snapshot.process.privacy = known.privacy
    snapshot.process.watchdogInterval = known.watchdogInterval
    // The stack in the core file contains the arguments, but the report must not contain them if the program turned off
    // their capture.
    if known.commandLine == nil { snapshot.process.commandLine = nil }
    snapshot.system = launch.system
    snapshot.system.machine = system.machine
    snapshot.system.pageSize = system.pageSize ?? launch.system.pageSize
  }
}
